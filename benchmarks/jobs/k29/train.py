import os, time, sys, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo"); r = dist.get_rank(); open(f"w{r}.pid", "w").write(str(os.getpid()))
net = nn.parallel.DistributedDataParallel(nn.GRU(6, 6, batch_first=True)); o = torch.optim.SGD(net.parameters(), .1)
for s in range(1, 200):
    x = torch.randn(3, 7, 6); l = (net(x)[0] - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.1)
    if s % 4 == 0: print(f"worker {r}: step {s}, loss {l.item():.3f}", flush=True)
    if s == 3: open(f"w{r}.s3", "w")
