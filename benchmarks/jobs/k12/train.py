import os, sys, time, torch, torch.distributed as dist
from torch import nn
from tqdm import tqdm
dist.init_process_group("gloo"); r = dist.get_rank()
lr = float(sys.argv[1])
net = nn.parallel.DistributedDataParallel(nn.Linear(20, 20)); o = torch.optim.SGD(net.parameters(), lr)
bar = tqdm(range(80), disable=r != 0, desc=f"lr={lr}", mininterval=0.5)
for s in bar:
    x = torch.randn(16, 20); l = (net(x) + x).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.08 if lr > 1 else .03)
    if r == 0: bar.set_postfix(loss=f"{l.item():.3g}")
if r == 0: torch.save(net.module.state_dict(), "final.pt"); tqdm.write("saved final.pt")
dist.destroy_process_group()
