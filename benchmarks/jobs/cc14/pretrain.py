import argparse
import os
import random
import time
from datetime import timedelta

import torch
import torch.distributed as dist
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

p = argparse.ArgumentParser()
p.add_argument("--docs", type=int)
p.add_argument("--port", type=int)
p.add_argument("--vocab", type=int, default=4000)
p.add_argument("--ddp-timeout", type=int, default=8)
a = p.parse_args()
rank, world = int(os.environ["SLURM_PROCID"]), int(os.environ["SLURM_NTASKS"])
dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=rank, world_size=world, timeout=timedelta(seconds=a.ddp_timeout))


def log(s):
    print(f"{time.strftime('%H:%M:%S')} {s}", flush=True)


def build_cache(path):
    log("training the BPE tokenizer")
    rng = random.Random(0)
    syl = [c + v for c in "bdfgklmnprst" for v in "aeiou"]
    docs = [" ".join("".join(rng.choices(syl, k=rng.randint(1, 4))) for _ in range(60)) for _ in range(3000)]
    tok = Tokenizer(models.BPE(unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.Whitespace()
    tok.train_from_iterator(docs[:500], trainers.BpeTrainer(vocab_size=a.vocab, special_tokens=["<unk>", "<eos>"], show_progress=False))
    t, ids = time.time(), []
    for i in range(a.docs):
        ids += tok.encode(docs[i % len(docs)]).ids + [1]
        if i % 4000 == 3999:
            rate = (i + 1) / (time.time() - t)
            log(f"tokenized {i + 1}/{a.docs} documents, {rate:.0f} docs/s, {(a.docs - i) / rate:.0f} s left")
    torch.save(torch.tensor(ids, dtype=torch.int32), path)
    log(f"cache {path} written, {len(ids)} tokens")


cache = "tokens.pt"
if rank == 0 and not os.path.exists(cache):
    log(f"{cache} not found, rank 0 builds it, the others wait")
    build_cache(cache)
elif rank != 0:
    log("waiting for the token cache")
dist.barrier()
ids = torch.load(cache).long()
log(f"{len(ids)} tokens")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(a.vocab, 64), torch.nn.Linear(64, a.vocab)))
opt = torch.optim.Adam(net.parameters())
for step in range(50):
    x = ids[(step * world + rank) * 256:][:257]
    loss = torch.nn.functional.cross_entropy(net(x[:-1]), x[1:])
    loss.backward(); opt.step(); opt.zero_grad()
    if step % 10 == 0:
        log(f"step {step} loss {loss.item():.3f}")
dist.destroy_process_group()
