import argparse, math, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
p = argparse.ArgumentParser(); p.add_argument("--lr", type=float); p.add_argument("--width", type=int); a = p.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank(); torch.manual_seed(0)
m = DDP(torch.nn.Sequential(torch.nn.Linear(10, a.width), torch.nn.ReLU(), torch.nn.Linear(a.width, 1)))
o = torch.optim.SGD(m.parameters(), lr=a.lr)
for s in range(80):
    x = torch.randn(32, 10); l = (m(x) - x.pow(2).sum(1, keepdim=True)).pow(2).mean()
    o.zero_grad(); l.backward(); o.step()
    t = l.detach().clone(); dist.all_reduce(t); t /= dist.get_world_size()
    if s % 20 == 0 and r == 0: print(f"  step {s:3d} loss {t.item():.4g}")
    if not math.isfinite(t.item()):
        if r == 0: print(f"  DIVERGED at step {s} (loss={t.item()}), pruning this trial")
        break
if r == 0: print(f"RESULT lr={a.lr} width={a.width} loss={t.item():.4g} status={'FAILED' if not math.isfinite(t.item()) else 'ok'}")
dist.destroy_process_group()
