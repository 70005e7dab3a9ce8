import os, sys, logging
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.utils.data import DataLoader, DistributedSampler
from dataset import PairDataset

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s")

@record
def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    logging.info("[r%d] attempt %s", rank, os.environ.get("TORCHELASTIC_RESTART_COUNT"))
    ds = PairDataset(400, seed=5)
    dl = DataLoader(ds, batch_size=10, sampler=DistributedSampler(ds, shuffle=False))
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(1000, 16), nn.Flatten(), nn.Linear(320, 2)))
    opt = torch.optim.SGD(net.parameters(), 0.1)
    for i, x in enumerate(dl):
        loss = net(x).logsumexp(1).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if i % 3 == 0: logging.info("[r%d] %d/%d loss=%.3f", rank, i, len(dl), loss.item())

if __name__ == "__main__":
    main()
