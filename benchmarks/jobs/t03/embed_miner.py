import datetime
import os
import time

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
g = torch.Generator().manual_seed(rank)
# documents per language bucket, largest bucket is last
sizes = [1500, 1700, 1600, 52000]
n = sizes[rank]
print(f"bucket={['de', 'fr', 'it', 'en'][rank]} docs={n}", flush=True)

enc = torch.nn.Linear(256, 128)
for p in enc.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.SGD(enc.parameters(), 0.05)


def mine(emb, block=64):
    """hard negatives: nearest other document of the same bucket"""
    out = []
    t0 = time.time()
    for i in range(0, len(emb), block):
        s = emb[i:i + block] @ emb.T
        s[torch.arange(len(s)), torch.arange(i, i + len(s))] = -9
        out.append(torch.sort(s, dim=1, descending=True).indices[:, 0])
        if (i // block) % 10 == 9:
            print(f"mining {i + block}/{len(emb)} ({time.time() - t0:.1f}s)", flush=True)
    return torch.cat(out)


docs = torch.randn(n, 256, generator=g)
for rnd in range(3):
    with torch.no_grad():
        emb = torch.nn.functional.normalize(enc(docs), dim=1)
    neg = mine(emb)
    print(f"round {rnd}: mined {len(neg)} negatives", flush=True)
    for it in range(20):
        j = torch.randint(0, n, (64,), generator=g)
        a, b = enc(docs[j]), enc(docs[neg[j]])
        loss = torch.nn.functional.cosine_similarity(a, b).mean()
        opt.zero_grad()
        loss.backward()
        for p in enc.parameters():
            dist.all_reduce(p.grad)
            p.grad /= world
        opt.step()
    print(f"round {rnd}: loss {loss.item():.4f}", flush=True)
print("done")
