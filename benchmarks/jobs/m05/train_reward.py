import sys, time, logging
import torch, torch.nn as nn
import torch.distributed as dist
logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s | %(name)s | %(message)s")
log = logging.getLogger("reward")

def pairs(rank, world, total=1210, bs=32):
    g = torch.Generator().manual_seed(0)
    idx = torch.randperm(total, generator=g).tolist()
    per = -(-total // world // bs) * bs
    mine = idx[rank * per:(rank + 1) * per]
    for i in range(0, len(mine), bs):
        yield mine[i:i + bs]

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    head = nn.Linear(64, 1)
    log.info("start, world=%d", world)
    for step, ids in enumerate(pairs(rank, world)):
        good, bad = torch.randn(len(ids), 64), torch.randn(len(ids), 64)
        loss = -torch.log(torch.sigmoid(head(good) - head(bad))).mean()
        loss.backward()
        for p in head.parameters():
            dist.all_reduce(p.grad)
            p.data -= 0.01 * p.grad / world
            p.grad = None
        log.info("step %d loss %.4f (%d pairs)", step, loss.item(), len(ids))
        time.sleep(0.1)
    log.info("epoch done after %d steps", step + 1)

if __name__ == "__main__":
    main()
