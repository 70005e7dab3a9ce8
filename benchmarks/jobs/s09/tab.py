import os, sys
import numpy as np, torch, torch.distributed as dist
from torch import nn

def mean(v):
    t = torch.tensor([float(v)]); dist.all_reduce(t); return t.item() / dist.get_world_size()

dist.init_process_group("gloo")
r, w = dist.get_rank(), dist.get_world_size()
z = np.load(f"feat/shard{r}.npz"); x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"])[:, None]
print(f"tab[{r}] rows={len(x)} cols={x.shape[1]} x.min={x.min():.3g} x.max={x.max():.3g} y.mean={y.mean():.3g}", flush=True)
torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 64), nn.SiLU(), nn.Linear(64, 1)))
opt = torch.optim.SGD(net.parameters(), lr=2e-4)
for step in range(200):
    sl = slice(step * 30, step * 30 + 30)
    loss = (net(x[sl]) - y[sl]).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    l = mean(loss.item())
    if step % 4 == 0: print(f"tab[{r}] step={step} loss={l:.4f}", flush=True)
    if l != l:
        print(f"tab[{r}] loss is {l} at step {step}, giving up", flush=True)
        sys.exit(3)
