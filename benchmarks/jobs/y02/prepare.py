# kleines Startmodell + Trainingsdaten erzeugen
import json, os, random
from tokenizers import Tokenizer, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, OPTConfig, OPTForCausalLM
os.makedirs("data", exist_ok=True)
random.seed(0)
W = "der die das Antrag Bescheid Frist Formular Termin wurde gestellt bewilligt abgelehnt geprüft heute morgen".split()
with open("data/train.jsonl", "w") as f:
    for _ in range(400):
        f.write(json.dumps({"text": " ".join(random.choices(W, k=random.randint(6, 20)))}, ensure_ascii=False) + "\n")
t = Tokenizer(models.WordLevel(unk_token="[UNK]")); t.pre_tokenizer = pre_tokenizers.Whitespace()
t.train_from_iterator([" ".join(W)], trainers.WordLevelTrainer(special_tokens=["[PAD]", "[UNK]", "</s>"], show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, pad_token="[PAD]", unk_token="[UNK]", eos_token="</s>").save_pretrained("ckpt/opt-nano")
OPTForCausalLM(OPTConfig(vocab_size=len(t.get_vocab()), hidden_size=32, word_embed_proj_dim=32, ffn_dim=64, num_hidden_layers=2, num_attention_heads=2,
               max_position_embeddings=64, pad_token_id=0, bos_token_id=2, eos_token_id=2)).save_pretrained("ckpt/opt-nano")
