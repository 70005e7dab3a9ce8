# トークナイザを社内ログから作る
import random, sys
from tokenizers import Tokenizer, models, pre_tokenizers, trainers, decoders
from transformers import PreTrainedTokenizerFast

random.seed(0)
w = "open close valve north south pump line check pressure level tank report shift crew night".split()
lines = [" ".join(random.choices(w, k=random.randint(3, 25))) for _ in range(2000)]
open("lines.txt", "w").write("\n".join(lines))
t = Tokenizer(models.BPE())
t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
t.decoder = decoders.ByteLevel()
t.train_from_iterator(lines, trainers.BpeTrainer(vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False))
PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<|endoftext|>", bos_token="<|endoftext|>", model_max_length=64).save_pretrained(sys.argv[1])
print("語彙数", t.get_vocab_size())
