import argparse, json, os, time
from datetime import timedelta
import numpy as np
import torch, torch.distributed as dist

ap = argparse.ArgumentParser()
ap.add_argument("--lang"); ap.add_argument("--order", type=int); ap.add_argument("--iters", type=int, default=30)
a = ap.parse_args()
rank = int(os.environ["RANK"])
V = {"fi": 1100}.get(a.lang, 900)

def ev(name, **kw):
    print(json.dumps({"ts": round(time.time(), 2), "ev": name, "lang": a.lang, **kw}))

ev("start", rank=rank, vocab=V, order=a.order)
dist.init_process_group("gloo", timeout=timedelta(seconds=25))
counts = np.zeros((V,) * a.order, dtype=np.float64)
rng = np.random.default_rng(rank)
mix = torch.full((a.order,), 1.0 / a.order)
for it in range(a.iters):
    idx = rng.integers(0, V, (20000, a.order))
    np.add.at(counts, tuple(idx.T), 1)
    ll = torch.tensor([float(np.log1p(counts.max())), float(counts.sum())])
    dist.all_reduce(ll)
    ev("em", it=it, ll=round(ll[0].item(), 4), n=int(ll[1].item()))
ev("done")
