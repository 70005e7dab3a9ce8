import glob, sys, time
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

files = ["corpus/wiki_00.txt", "corpus/wiki_01.txt", "corpus/books.txt"]
print(time.strftime("%X"), "training a 2k BPE on", files, flush=True)
tok = Tokenizer(models.BPE(unk_token="<unk>"))
tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tok.train(files, trainers.BpeTrainer(vocab_size=2000, special_tokens=["<unk>", "<s>", "</s>", "<pad>"]))
tok.save("tokenizer.json")
print(time.strftime("%X"), "saved tokenizer.json,", tok.get_vocab_size(), "tokens")
