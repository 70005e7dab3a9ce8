import os, logging, datetime
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from loader import ShardReader

def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level="INFO", format=f"%(levelname).1s %(asctime)s rank{rank} %(name)s] %(message)s")
    log = logging.getLogger("train")
    reader = ShardReader("shards", rank, world)
    model = DDP(nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 1)))
    opt = torch.optim.SGD(model.parameters(), lr=0.01)
    for i in range(10):
        x = torch.from_numpy(reader.get(i)).float()
        for b in x.split(32):
            loss = model(b).pow(2).mean()
            opt.zero_grad(); loss.backward(); opt.step()
        log.info("shard %d done, loss %.5f", i, loss.item())
    dist.destroy_process_group()

main()
