import argparse, torch, torch.distributed as dist
from torch import nn
from metrics import MetricsDB
ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int, default=40); a = ap.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
db = MetricsDB(f"metrics_{r}.db")
net = nn.parallel.DistributedDataParallel(nn.Conv1d(2, 2, 3, padding=1)); opt = torch.optim.RMSprop(net.parameters(), 1e-2)
for s in range(a.steps):
    x = torch.randn(4, 2, 20); l = (net(x) - x.roll(1, -1)).abs().mean(); opt.zero_grad(); l.backward(); opt.step(); db.log(s, loss=l.item())
    if s % 8 == 0: print(f"(r{r}) {s:03d} L1={l.item():.5f}", flush=True)
if r == 0:
    torch.save(net.module, "conv.pt"); print("weights -> conv.pt", flush=True)
dist.destroy_process_group()
db.close()
