import argparse
import glob
import logging
import os
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=f"%(asctime)s [r{rank}] %(message)s")
log = logging.getLogger()


def batches(files, bs=64):
    for f in files:
        d = np.load(f)
        log.info("lecture de %s", f)
        for i in range(0, len(d["x"]), bs):
            yield torch.from_numpy(d["x"][i:i + bs]), torch.from_numpy(d["y"][i:i + bs])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    mine = sorted(glob.glob("shards/*.npz"))[rank::world]
    log.info("%d fragments: %s", len(mine), " ".join(os.path.basename(m) for m in mine))
    todo = [f for _ in range(a.epochs) for f in mine]
    it = batches(todo)
    torch.manual_seed(0)
    net = DDP(torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.ReLU(), torch.nn.Linear(64, 4)))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    step, tot = 0, None
    while True:
        try:
            x, y = next(it)
        except StopIteration:
            log.info("pas %d: plus de donnees pour ce rang, on s'arrete la", step)
            logging.shutdown()
            sys.stdout.flush()
            os._exit(0)  # evite l'attente du pool de threads a la sortie
        if tot is None:
            n = torch.tensor([len(todo)])
            dist.all_reduce(n)
            tot = int(n) * 10
        loss = torch.nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        if step % 5 == 0:
            log.info("pas %d  perte %.4f  (total global %d lots)", step, loss.item(), tot)


main()
