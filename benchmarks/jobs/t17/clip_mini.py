import gzip
import os
import pickle
import sys
import traceback

import torch
import torch.distributed as dist
import torch.nn.functional as F

R, W = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=R, world_size=W)


def out(*a):
    sys.stdout.write(f"clip/{R}: " + " ".join(map(str, a)) + "\n")
    sys.stdout.flush()


def shards():
    """endless; unreadable shards are reported and passed over"""
    mine = [f"shards/{k:05d}.pkl.gz" for k in range(R, 18, W)]
    bad = set()
    while True:
        for f in mine:
            if f in bad:
                continue
            try:
                with gzip.open(f) as h:
                    yield f, pickle.load(h)
            except Exception:
                bad.add(f)
                out("ERROR cannot read", f)
                traceback.print_exc()
                out(f"WARN {f} goes to the blocklist ({len(bad)} of {len(mine)}), continuing with next shard")


a, b = torch.nn.Linear(32, 16), torch.nn.Linear(32, 16)
ps = list(a.parameters()) + list(b.parameters())
for p in ps:
    dist.broadcast(p.data, 0)
opt = torch.optim.AdamW(ps, 3e-3)
src = shards()
for step in range(90):
    f, d = next(src)
    x, y = torch.from_numpy(d["img"])[:48], torch.from_numpy(d["txt"])[:48]
    logit = F.normalize(a(x), dim=1) @ F.normalize(b(y), dim=1).T * 10
    loss = F.cross_entropy(logit, torch.arange(len(x)))
    opt.zero_grad()
    loss.backward()
    for p in ps:
        dist.all_reduce(p.grad)
        p.grad /= W
    opt.step()
    out(f"step {step:3d} {os.path.basename(f)} n={len(d['img'])} loss {loss.item():.4f}")
if R == 0:
    torch.save([a.state_dict(), b.state_dict()], "clip_mini.pt")
    out("saved clip_mini.pt after 90 steps")
dist.barrier()
out("bye")
dist.destroy_process_group()
