import os, logging, torch, torch.nn as nn, torch.distributed as dist
from data import ShardedBin
from torch.utils.data import DataLoader
dist.init_process_group("gloo"); rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"[%(asctime)s][rank {rank}] %(message)s")
ds = ShardedBin("shards", rank, world)
logging.info("%d samples in %d files", len(ds), len(ds.files))
dl = DataLoader(ds, batch_size=64, shuffle=False)
m = nn.parallel.DistributedDataParallel(nn.Linear(16, 16)); opt = torch.optim.Adam(m.parameters())
for i, x in enumerate(dl):
    l = (m(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if i % 10 == 0: logging.info("it %d loss %.4f", i, l.item())
