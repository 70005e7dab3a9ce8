"""CTR tower, one day file per rank and round."""
import argparse, logging, os, time
import torch, torch.nn as nn
import torch.distributed as dist
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("ctr")
DEVICES = {"ios": 0, "android": 1, "web": 2}


class Tower(nn.Module):
    def __init__(self, n_geo):
        super().__init__()
        self.user = nn.Embedding(5000, 16)
        self.item = nn.Embedding(800, 16)
        self.geo = nn.Embedding(n_geo, 4)
        self.dev = nn.Embedding(3, 4)
        self.mlp = nn.Sequential(nn.Linear(40, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, u, i, g, d):
        return self.mlp(torch.cat([self.user(u), self.item(i), self.geo(g), self.dev(d)], -1)).squeeze(-1)


def encode(line, geo):
    u, i, g, d, y = line.rstrip("\n").split("\t")
    return int(u), int(i), geo[g], DEVICES[d], int(y)


def batches(path, geo, bs):
    buf = []
    with open(path) as f:
        for line in f:
            buf.append(encode(line, geo))
            if len(buf) == bs:
                yield torch.tensor(buf)
                buf = []


@record
def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="clicks")
    ap.add_argument("--rounds", type=int, default=3)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{rank} %(levelname)s %(name)s: %(message)s")
    geo = {g: k for k, g in enumerate(open(f"{a.data}/geo_vocab.txt").read().split())}
    log.info("geo vocab %d entries, world %d", len(geo), world)
    torch.manual_seed(0)
    model = DDP(Tower(len(geo)))
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    crit = nn.BCEWithLogitsLoss()
    for rnd in range(a.rounds):
        day = rnd * world + rank
        path = f"{a.data}/day={day:02d}.tsv"
        log.info("round %d reads %s", rnd, path)
        t0 = time.time()
        for k, b in enumerate(batches(path, geo, 32)):
            loss = crit(model(b[:, 0], b[:, 1], b[:, 2], b[:, 3]), b[:, 4].float())
            opt.zero_grad(); loss.backward(); opt.step()
            if k % 5 == 4:
                log.info("round %d step %d logloss %.4f", rnd, k + 1, loss.item())
        log.info("round %d done in %.2fs", rnd, time.time() - t0)
    if rank == 0:
        torch.save(model.module.state_dict(), "tower.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
