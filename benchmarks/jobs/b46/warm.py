import os
from loader import MemmapCorpus
from tokenizers import Tokenizer
r = os.environ["OMPI_COMM_WORLD_RANK"]
tok = Tokenizer.from_file(os.environ["TINY"] + "/tokenizer.json")
print(f"rank {r}: vocabulary {tok.get_vocab_size()}", flush=True)
c = MemmapCorpus(f"bins/{r}")
for s in range(200):
    x = c.batch(s)
    if s % 20 == 0:
        print(f"rank {r}: step {s} first tokens {x[:4].tolist()}", flush=True)
