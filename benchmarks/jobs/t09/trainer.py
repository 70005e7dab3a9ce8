import datetime
import logging
import os

import torch
import torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format="%(asctime)s " + f"rank={rank}/{world} " + "%(message)s")
log = logging.getLogger("trainer")
log.info("torch %s device %s", torch.__version__, os.environ["DEVICE_NAME"])
log.info("joining %s:%s", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
log.info("group is up")
w = torch.zeros(1000, requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for step in range(100):
    (w - rank).pow(2).mean().backward()
    dist.all_reduce(w.grad)
    opt.step()
    opt.zero_grad()
log.info("finished, mean %.4f", w.mean().item())
