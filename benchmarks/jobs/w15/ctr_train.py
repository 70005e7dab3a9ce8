import os, sys, warnings
import numpy as np, torch, torch.distributed as dist, torch.nn as nn
rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
d = np.load(sys.argv[1])
dl = torch.utils.data.DataLoader(torch.from_numpy(d), batch_size=64, shuffle=True, drop_last=True)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 1))
opt = torch.optim.SGD(net.parameters(), 1e-3)
print(f"r{rank}: {sys.argv[1]} {len(d)} rows, {len(dl)} batches", flush=True)
for i, b in enumerate(dl):
    x, y = b[:, :8] / 1000, b[:, 8:]
    if torch.isnan(x).any():
        warnings.warn(f"r{rank}: {int(torch.isnan(x).sum())} missing values in batch {i}, set to 0")
        x = torch.nan_to_num(x)
    loss = nn.functional.binary_cross_entropy_with_logits(net(x), y)
    opt.zero_grad(); loss.backward()
    g = torch.cat([p.grad.flatten() for p in net.parameters()])
    dist.all_reduce(g)
    o = 0
    for p in net.parameters():
        p.grad.copy_(g[o:o + p.numel()].view_as(p) / 4); o += p.numel()
    opt.step()
    if i % 10 == 0 or i == len(dl) - 1:
        print(f"r{rank}: batch {i + 1}/{len(dl)} logloss {loss.item():.4f}", flush=True)
if rank == 0:
    torch.save(net.state_dict(), "ctr.pt")
print(f"r{rank}: training finished after {len(dl)} batches", flush=True)
