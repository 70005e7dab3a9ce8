import argparse, os, sys, time
import torch, torch.distributed as dist
from torch import nn
from datetime import timedelta
ap = argparse.ArgumentParser(); ap.add_argument("--rounds", type=int); a = ap.parse_args()
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
r = dist.get_rank()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(40, 300), nn.Tanh(), nn.Linear(300, 300), nn.Tanh(), nn.Linear(300, 5))
opt = torch.optim.Adam(net.parameters(), 1e-3)


def save(rnd):
    p = f"ring/slot{rnd % 4}.pt"
    with open(p, "wb") as f:
        torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "round": rnd}, f)
    print(f"round {rnd}: saved {p}")


for rnd in range(a.rounds):
    for s in range(30):
        x = torch.randn(32, 40); y = x[:, :5].argmax(1)
        l = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); l.backward()
        for p in net.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.SUM); p.grad.div_(2)
        opt.step()
        print(f"round {rnd} it {s:02d} ce {l.item():.4f} gn {sum(p.grad.norm()**2 for p in net.parameters())**.5:.3f}")
    if r == 0:
        save(rnd)
    dist.barrier()
print("all rounds done")
dist.destroy_process_group()
