import os, time
from datetime import timedelta
import numpy as np, torch, torch.nn as nn, torch.distributed as dist

dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(0)
net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 1))
opt = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
scratch = os.environ["SCRATCH"]
print("rank", rank, "of", world, "scratch", scratch)
for s in range(rank, 24, world):
    f = f"{scratch}/tiles_{s:03d}.npz"
    with np.load(f) as z:
        x, y = torch.from_numpy(z["x"]), torch.from_numpy(z["y"]).float()
    tot = 0.0
    for xb, yb in zip(x.split(8), y.split(8)):
        loss = nn.functional.binary_cross_entropy_with_logits(net(xb).squeeze(1), yb)
        opt.zero_grad(); loss.backward()
        for p in net.parameters():
            dist.all_reduce(p.grad); p.grad /= world
        opt.step(); tot += loss.item()
    print(f"{os.path.basename(f)} loss {tot / 8:.4f}")
print("ok")
