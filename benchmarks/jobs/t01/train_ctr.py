import argparse
import csv
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP

from ctr.metrics import auc, calibration

RANK = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname).1s [r{RANK}] %(name)s: %(message)s")
log = logging.getLogger("ctr")


def load(path):
    with open(path) as f:
        rows = [list(map(float, r)) for r in list(csv.reader(f))[1:]]
    t = torch.tensor(rows)
    k = int(len(t) * 0.8) + 1
    x, y = t[:, :4] / torch.tensor([24.0, 12.0, 3.0, 80.0]), t[:, 4]
    return x[:k], y[:k], x[k:], y[k:]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data")
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--bs", type=int, default=128)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    ws = dist.get_world_size()
    torch.manual_seed(1000 + RANK)
    # one campaign per rank, so that nobody mixes advertisers in one batch
    xt, yt, xv, yv = load(f"{a.data}/campaign_{RANK}.csv")
    log.info("campaign %d: %d train / %d valid rows, seed %d", RANK, len(xt), len(xv), 1000 + RANK)
    steps = torch.tensor([len(xt) // a.bs])
    dist.all_reduce(steps, op=dist.ReduceOp.MIN)
    net = DDP(nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 1)))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    for ep in range(a.epochs):
        t0 = time.time()
        perm = torch.randperm(len(xt))
        for i in range(int(steps)):
            b = perm[i * a.bs:(i + 1) * a.bs]
            loss = nn.functional.binary_cross_entropy_with_logits(net(xt[b]).squeeze(1), yt[b])
            opt.zero_grad()
            loss.backward()
            opt.step()
            if i % 10 == 0:
                log.info("epoch %d step %d/%d loss %.4f", ep, i, int(steps), loss.item())
        log.info("epoch %d took %.2fs, validating", ep, time.time() - t0)
        with torch.no_grad():
            p = torch.sigmoid(net.module(xv).squeeze(1))
        m = torch.tensor([auc(p, yv), calibration(p, yv)])
        dist.all_reduce(m)
        m /= ws
        if RANK == 0:
            log.info("epoch %d valid auc=%.4f calib=%.3f", ep, m[0], m[1])
            torch.save(net.module.state_dict(), f"ctr_ep{ep}.pt")
            log.info("saved ctr_ep%d.pt", ep)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
