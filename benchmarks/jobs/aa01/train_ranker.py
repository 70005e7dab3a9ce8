import argparse, faulthandler, os, queue, sys, threading, time
import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

rank = int(os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
LOG = open(f"logs/rank_{rank}.log", "w", buffering=1)


def log(msg):
    LOG.write(f"{time.strftime('%H:%M:%S')} [{rank}/{world}] {msg}\n")


class Prefetcher(threading.Thread):
    """reads one shard after the other and fills a bounded queue"""

    def __init__(self, shards, depth=8):
        super().__init__(daemon=True, name="prefetch")
        self.q = queue.Queue(maxsize=depth)
        self.shards = shards

    def run(self):
        for s in self.shards:
            g = torch.Generator().manual_seed(s)
            for _ in range(20):
                self.q.put((torch.randn(16, 32, generator=g), torch.randn(16, 1, generator=g)))
        # no sentinel: train loop knows the number of steps

    def get(self):
        return self.q.get()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--shards", type=int, default=59)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    mine = list(range(rank, args.shards, world))
    log(f"{len(mine)} shards of {args.shards}: {mine[:4]}...")
    net = DDP(nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 1)))
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    pf = Prefetcher(mine)
    pf.start()
    # every shard gives 20 batches
    steps = min(args.steps, (args.shards + world - 1) // world * 20)
    log(f"training for {steps} steps")
    for step in range(steps):
        faulthandler.dump_traceback_later(12, exit=True, file=LOG)
        x, y = pf.get()
        loss = ((net(x) - y) ** 2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step > 370:
            log(f"step {step} loss {loss.item():.4f} queue {pf.q.qsize()}")
    faulthandler.cancel_dump_traceback_later()
    log("done")
    dist.destroy_process_group()


main()
