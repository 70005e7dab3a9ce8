import argparse, logging, os, time
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset, DistributedSampler

logger = logging.getLogger("train")

def build_model(width):
    return nn.Sequential(nn.Linear(64, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10))

def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=3)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--width", type=int, default=256)
    a = p.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(levelname)s %(name)s: %(message)s")
    logger.info("started pid=%d world_size=%d host=%s", os.getpid(), world, os.uname().nodename)
    torch.manual_seed(0)
    ds = TensorDataset(torch.randn(3000, 64), torch.randint(0, 10, (3000,)))
    sampler = DistributedSampler(ds)
    loader = DataLoader(ds, batch_size=a.batch_size, sampler=sampler)
    model = DDP(build_model(a.width))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    for epoch in range(a.epochs):
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            time.sleep(0.3)
            step += 1
            logger.info("epoch %d step %d loss %.4f", epoch, step, loss.item())
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
