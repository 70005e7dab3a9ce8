import argparse, os
import torch, torch.distributed as dist
from torch import nn
ap = argparse.ArgumentParser(); ap.add_argument("--phase", type=int); ap.add_argument("--steps", type=int); a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
f = f"state{a.phase-1}.pt"
net = nn.Linear(20, 20)
if a.phase: net.load_state_dict(torch.load(f))
ddp = nn.parallel.DistributedDataParallel(net)
opt = torch.optim.SGD(ddp.parameters(), .1 if a.phase == 0 else .01)
rows = []
for s in range(a.steps):
    x = torch.randn(32, 20); l = ((ddp(x) - x.flip(1)) ** 2).mean()
    opt.zero_grad(); l.backward(); opt.step()
    rows.append(f"{s},{l.item():.5f}")
    if s % 2 == 0: print(f"({r}) phase {a.phase} step {s:3d} mse {l.item():.5f}")
if r == 0:
    open(f"runs/phase{a.phase}.csv", "w").write("\n".join(rows)); torch.save(net.state_dict(), f"state{a.phase}.pt")
dist.barrier(); dist.destroy_process_group()
