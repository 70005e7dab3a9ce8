import argparse, json, logging, os, time, urllib.request
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("intent")


class RunTracker:
    """Posts metrics to the team's dashboard. Never stops a run."""

    def __init__(self, url):
        self.url, self.errors = url, 0

    def push(self, **kw):
        if self.errors >= 4:
            return
        try:
            req = urllib.request.Request(self.url, data=json.dumps(kw).encode(), headers={"Content-Type": "application/json"})
            urllib.request.urlopen(req, timeout=2)
        except OSError:
            self.errors += 1
            log.exception("could not push metrics to %s (%d/4)", self.url, self.errors)
            if self.errors >= 4:
                log.error("tracker disabled for the rest of this run")


def read(path, rank, world):
    rows = []
    with open(path) as f:
        for i, line in enumerate(f):
            if i % world != rank:
                continue
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as e:
                log.error("%s:%d: bad record skipped: %s", path, i + 1, e)
    return rows


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--corpus"); ap.add_argument("--epochs", type=int)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(levelname)s %(message)s")
    rows = read(f"{a.corpus}/train.jsonl", rank, world)
    names = [None] * world
    dist.all_gather_object(names, sorted({r["intent"] for r in rows}))
    label2id = {n: i for i, n in enumerate(sorted({x for s in names for x in s}))}
    log.info("%d usable rows, labels %s", len(rows), label2id)
    X = torch.tensor([r["x"] for r in rows]); Y = torch.tensor([label2id[r["intent"]] for r in rows])
    torch.manual_seed(0)
    model = DDP(torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, len(label2id))))
    opt = torch.optim.Adam(model.parameters(), 1e-2)
    tracker = RunTracker("http://127.0.0.1:47150/api/runs/intent-nightly")
    steps = 28
    for ep in range(a.epochs):
        for s in range(steps):
            i = (s * 10) % (len(X) - 10)
            loss = torch.nn.functional.cross_entropy(model(X[i:i + 10]), Y[i:i + 10])
            opt.zero_grad(); loss.backward(); opt.step()
            if rank == 0:
                print(f"epoch {ep + 1}/{a.epochs} step {s + 1}/{steps} loss {loss.item():.4f} lr 0.01")
        if rank == 0:
            tracker.push(epoch=ep, loss=loss.item())
    log.info("training finished, evaluating on dev")
    dev = read(f"{a.corpus}/dev.jsonl", rank, world)
    hit = 0
    for n, r in enumerate(dev):
        with torch.no_grad():
            p = model.module(torch.tensor(r["x"])).argmax().item()
        hit += p == label2id[r["intent"]]
        if (n + 1) % 20 == 0:
            log.info("dev %d/%d acc %.3f", n + 1, len(dev), hit / (n + 1))
    t = torch.tensor([hit, len(dev)]); dist.all_reduce(t)
    log.info("dev accuracy %.4f", (t[0] / t[1]).item())
    dist.destroy_process_group()


main()
