import argparse, logging, os, sys, time
import torch, torch.nn as nn
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

RANK = int(os.environ["RANK"]); WORLD = int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{RANK} %(levelname).1s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("finetune")


def make_split(rank):
    g = torch.Generator().manual_seed(100 + rank)
    w = torch.randn(24, 1, generator=torch.Generator().manual_seed(7))
    x = torch.randn(1200, 24, generator=g)
    noise = 0.6 if rank != 2 else 3.5
    y = ((x @ w + noise * torch.randn(1200, 1, generator=g)) > 0).float()
    return (x[:1000], y[:1000]), (x[1000:], y[1000:])


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def step(self, value):
        if value < self.best - 1e-3:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--patience", type=int, default=3)
    a = p.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    (xt, yt), (xv, yv) = make_split(RANK)
    log.info("train %d rows, val %d rows, positives %.3f", len(xt), len(xv), yt.mean())
    net = DDP(nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 1)))
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    lossf = nn.BCEWithLogitsLoss()
    stop = EarlyStopping(a.patience)
    for ep in range(a.epochs):
        tot = 0.0
        for i in range(0, len(xt), 50):
            opt.zero_grad()
            loss = lossf(net(xt[i:i+50]), yt[i:i+50])
            loss.backward(); opt.step(); tot += loss.item()
        with torch.no_grad():
            v = lossf(net.module(xv), yv).item()
        log.info("epoch %02d train %.4f val %.4f", ep, tot / 20, v)
        if stop.step(v):
            log.info("val has not improved for %d epochs (best %.4f), stopping", a.patience, stop.best)
            break
        time.sleep(0.2)
    if RANK == 0:
        torch.save(net.module.state_dict(), "churn_head.pt")
    log.info("finished")


if __name__ == "__main__":
    main()
    logging.shutdown()
    sys.exit(0)
