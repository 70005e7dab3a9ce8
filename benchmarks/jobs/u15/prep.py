import random, torch
from tokenizers import Tokenizer, models, pre_tokenizers, trainers, processors
from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast
random.seed(1)
good = "bright warm lovely sturdy perfect fast quiet".split(); bad = "broken cold dim late noisy flimsy awful".split()
fill = "the lamp chair desk arrived was and very box".split()
with open("reviews.tsv", "w") as f:
    for _ in range(800):
        y = random.random() < .5
        ws = random.choices(fill, k=random.randint(5, 60)) + random.choices(good if y else bad, k=4)
        random.shuffle(ws); f.write(f"{int(y)}\t{' '.join(ws)}\n")
t = Tokenizer(models.WordLevel(unk_token="[UNK]")); t.pre_tokenizer = pre_tokenizers.Whitespace()
t.train_from_iterator([l.split("\t")[1] for l in open("reviews.tsv")], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
t.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
tok = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=48)
tok.save_pretrained("base")
BertForMaskedLM(BertConfig(vocab_size=len(tok), hidden_size=48, num_hidden_layers=2, num_attention_heads=4, intermediate_size=96, max_position_embeddings=48)).save_pretrained("base")
print("base model written")
