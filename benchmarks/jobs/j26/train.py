import os, numpy as np, torch, torch.distributed as dist
from fastpack import count_ngrams
dist.init_process_group("gloo")
r = dist.get_rank()
rng = np.random.default_rng(r)
docs = [rng.integers(0, 256, 128) for _ in range(24)]
if r == 2:      # this part of the crawl has the new tokenizer's ids
    docs[15:] = [d * 1_000_003 for d in docs[15:]]
w = torch.nn.Parameter(torch.zeros(4))
for i, d in enumerate(docs):
    n = count_ngrams(d)
    t = torch.tensor([float(n)]); dist.all_reduce(t)
    if r == 0: print(f"doc batch {i:2d}: {int(t)} new n-grams", flush=True)
dist.destroy_process_group()
