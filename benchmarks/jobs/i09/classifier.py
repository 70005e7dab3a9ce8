import torch, torch.nn as nn, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
R = dist.get_rank()
torch.manual_seed(1)
X = torch.randn(400, 12); Y = (X[:, 0] * X[:, 1] > 0).long()
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 2)))
opt = torch.optim.Adam(net.parameters(), 0.01)
for e in range(6):
    for i in range(R * 32, 320, 64):
        l = nn.functional.cross_entropy(net(X[i:i+32]), Y[i:i+32])
        opt.zero_grad(); l.backward(); opt.step()
    if R == 0: print(f"Epoch {e+1}/6  train_loss={l.item():.3f}  val_acc={(net.module(X[320:]).argmax(1) == Y[320:]).float().mean():.3f}", flush=True)
dist.destroy_process_group()
