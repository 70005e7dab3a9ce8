import datetime, time, sys
import torch, torch.nn as nn, torch.distributed as dist
from feeder import Feeder
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
rank = dist.get_rank()
net = nn.parallel.DistributedDataParallel(nn.Linear(32, 32))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
for step, x in enumerate(Feeder(rank, 5)):
    loss = (net(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    time.sleep(0.15)
    print(f"rank={rank} step={step} loss={loss.item():.4f}", flush=True)
    if step == 300:
        break
