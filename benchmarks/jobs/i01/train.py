import argparse, json, logging, os
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

ap = argparse.ArgumentParser()
ap.add_argument("--data"); ap.add_argument("--epochs", type=int, default=1)
args = ap.parse_args()
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [%(levelname)s] rank{rank} %(name)s: %(message)s")
log = logging.getLogger("train")

def load(path):
    good, bad = [], 0
    for no, line in enumerate(open(path)):
        if no % world != rank:
            continue
        try:
            row = json.loads(line)
            good.append((torch.tensor(row["x"]), row["y"]))
        except Exception:
            bad += 1
            log.exception("cannot parse line %d of %s, skipping the sample", no, path)
    log.info("rank %d: %d samples, %d skipped", rank, len(good), bad)
    return good, bad

data, bad = load(args.data)
n = torch.tensor([len(data)]); dist.all_reduce(n, op=dist.ReduceOp.MIN)
model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3)))
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
hist = []
for ep in range(args.epochs):
    for s in range(0, int(n), 8):
        b = data[s:s + 8][: int(n) - s]
        loss = nn.functional.cross_entropy(model(torch.stack([x for x, _ in b])), torch.tensor([y for _, y in b]))
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0 and s % 16 == 0:
            log.info("epoch %d step %d loss %.4f", ep, s // 8, loss.item())
    hist.append(loss.item())
tot = torch.tensor([bad]); dist.all_reduce(tot)
if rank == 0:
    print("+-------+---------+---------+")
    print("| epoch | loss    | skipped |")
    print("+-------+---------+---------+")
    for i, h in enumerate(hist):
        print(f"| {i:5d} | {h:7.4f} | {int(tot):7d} |")
    print("+-------+---------+---------+")
dist.destroy_process_group()
