import os, sys, datetime as dt
import torch, torch.nn as nn, torch.distributed as dist

rank = int(os.environ["RANK"]); world = int(os.environ["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=dt.timedelta(seconds=12))

def say(*a):
    print(f"[{dt.datetime.now():%Y-%m-%d %H:%M:%S}][rank{rank}]", *a, flush=True)

def reduce_mean(t):
    dist.all_reduce(t)
    return t / world

def sync_grads(model):
    for p in model.parameters():
        p.grad = reduce_mean(p.grad)

def validate(model):
    with torch.no_grad():
        x = torch.randn(64, 48)
        loss = (model(x) - x).pow(2).mean()
    return reduce_mean(loss.reshape(1)).item()

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(48, 24), nn.Tanh(), nn.Linear(24, 48))
opt = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(100 + rank)
for it in range(1, 41):
    x = torch.randn(32, 48)
    loss = (model(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); sync_grads(model); opt.step()
    if it % 2 == 0:
        say(f"iter {it} train loss {loss.item():.4f}")
    if it % 10 == 0 and rank == 0:
        say(f"iter {it}: running validation")
        v = validate(model)
        say(f"iter {it}: val loss {v:.4f}")
dist.destroy_process_group()
