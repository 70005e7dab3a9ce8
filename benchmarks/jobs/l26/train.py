import time, torch, torch.nn as nn, torch.distributed as dist
from tracking import Tracker
dist.init_process_group("gloo"); rank = dist.get_rank()
tr = Tracker("http://127.0.0.1:4391", "exp-17") if rank == 0 else None
net = nn.parallel.DistributedDataParallel(nn.Linear(16, 16)); opt = torch.optim.SGD(net.parameters(), 0.05)
for ep in range(12):
    for s in range(20):
        x = torch.randn(16, 16); l = (net(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step(); time.sleep(0.05)
    print(f"rank {rank} epoch {ep} done loss {l.item():.4f}")
    if tr: tr.log(epoch=ep, loss=l.item())
print(f"rank {rank} finished")
