import argparse, datetime, fcntl, json, os, sys, time
import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["RANK"]); world = int(os.environ["WORLD_SIZE"])
T0 = time.time()


def emit(event, **kw):
    sys.stdout.write(json.dumps({"t": round(time.time() - T0, 2), "rank": rank, "event": event, **kw}) + "\n")
    sys.stdout.flush()


def load_file(sub):
    """Files of a partition may only be read under a shared lock (see feature store docs)."""
    part = f"features/part-{rank:05d}"
    if sub > 0:
        with open(part + ".lock", "a+") as lk:
            tries = 0
            while True:
                try:
                    fcntl.flock(lk, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    lk.seek(0)
                    emit("partition_locked", partition=part, holder=lk.read().strip() or None, tries=tries)
                    tries += 1
                    time.sleep(3)
            z = np.load(f"{part}.{sub}.npz")
            return {k: torch.from_numpy(z[k]) for k in z.files}
    z = np.load(f"{part}.{sub}.npz")
    return {k: torch.from_numpy(z[k]) for k in z.files}


class TwoTower(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.u = nn.Embedding(5000, d); self.i = nn.Embedding(2000, d)
        self.mu = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, d))
        self.mi = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, d))

    def forward(self, u, i):
        return (self.mu(self.u(u)) * self.mi(self.i(i))).sum(-1)


ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int); ap.add_argument("--bs", type=int, default=64)
a = ap.parse_args()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=14))
torch.manual_seed(1)
m = DistributedDataParallel(TwoTower())
opt = torch.optim.Adagrad(m.parameters(), lr=0.05)
emit("start", world=world, params=sum(p.numel() for p in m.parameters()))
bce = nn.BCEWithLogitsLoss()
step, sub = 0, 0
while step < a.steps:
    t = time.time()
    data = load_file(sub % 3)
    emit("file_open", file=f"part-{rank:05d}.{sub % 3}.npz", rows=len(data["user"]), seconds=round(time.time() - t, 3))
    for lo in range(0, len(data["user"]) - a.bs + 1, a.bs):
        sl = slice(lo, lo + a.bs)
        loss = bce(m(data["user"][sl], data["item"][sl]), data["click"][sl].float())
        opt.zero_grad(); loss.backward(); opt.step(); step += 1
        if step % 10 == 0:
            emit("train", step=step, loss=round(loss.item(), 4))
    sub += 1
dist.barrier()
emit("done", step=step)
dist.destroy_process_group()
