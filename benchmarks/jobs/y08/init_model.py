import sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, DistilBertConfig, DistilBertForSequenceClassification
t = Tokenizer(models.WordLevel(unk_token="[UNK]")); t.pre_tokenizer = pre_tokenizers.Whitespace()
t.train_from_iterator(["the product is and great lovely solid quick perfect broken late awful noisy cheap"], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]"], show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]").save_pretrained(sys.argv[1])
DistilBertForSequenceClassification(DistilBertConfig(vocab_size=64, dim=32, hidden_dim=64, n_layers=2, n_heads=2, max_position_embeddings=64)).save_pretrained(sys.argv[1])
