import logging
from datetime import timedelta
import torch, torch.nn as nn, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("vae")
log.info("torch %s, waiting for the other nodes", torch.__version__)
dist.init_process_group("gloo", timeout=timedelta(seconds=15))
log.info("group ready")
torch.manual_seed(dist.get_rank())
m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(64, 16), nn.Tanh(), nn.Linear(16, 64)))
o = torch.optim.Adam(m.parameters(), 1e-3)
for i in range(200):
    x = torch.rand(32, 64)
    l = ((m(x) - x) ** 2).mean(); o.zero_grad(); l.backward(); o.step()
    if i % 50 == 0: log.info("it %d mse %.4f", i, l.item())
dist.destroy_process_group()
