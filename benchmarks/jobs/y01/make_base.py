import argparse
from tokenizers import Tokenizer, models, pre_tokenizers, decoders, trainers
from transformers import PreTrainedTokenizerFast, GPT2Config, GPT2LMHeadModel
p = argparse.ArgumentParser(); p.add_argument("--out"); a = p.parse_args()
t = Tokenizer(models.BPE()); t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False); t.decoder = decoders.ByteLevel()
t.train_from_iterator(["hello customer thank you for your message"], trainers.BpeTrainer(vocab_size=320, special_tokens=["<pad>", "<eos>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", eos_token="<eos>").save_pretrained(a.out)
GPT2LMHeadModel(GPT2Config(vocab_size=320, n_positions=256, n_embd=48, n_layer=2, n_head=4, bos_token_id=1, eos_token_id=1)).save_pretrained(a.out)
print("base model in", a.out)
