import argparse
from tokenizers import Tokenizer, models, pre_tokenizers, trainers, decoders
from transformers import PreTrainedTokenizerFast
ap = argparse.ArgumentParser(); ap.add_argument("--corpus"); ap.add_argument("--out"); a = ap.parse_args()
t = Tokenizer(models.BPE(unk_token="<unk>"))
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
t.train([a.corpus], trainers.BpeTrainer(vocab_size=600, special_tokens=["<unk>", "<s>", "</s>"], show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>", unk_token="<unk>").save_pretrained(a.out)
print("vocab", t.get_vocab_size())
