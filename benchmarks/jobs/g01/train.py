import argparse, json, logging, os
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

p = argparse.ArgumentParser()
p.add_argument("--data"); p.add_argument("--epochs", type=int, default=1)
a = p.parse_args()
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank{rank}] %(levelname)s %(name)s: %(message)s")
log = logging.getLogger("train")

def parse(line):
    r = json.loads(line)
    return torch.tensor(r["x"]), r["y"]

def load(path):
    out, bad = [], 0
    for n, line in enumerate(open(path)):
        if n % world != rank:
            continue
        try:
            out.append(parse(line))
        except Exception:
            bad += 1
            log.exception("could not parse %s:%d, skipping", path, n + 1)
    log.info("loaded %d samples, %d skipped", len(out), bad)
    return out

data = load(a.data)
n = torch.tensor(len(data)); dist.all_reduce(n, op=dist.ReduceOp.MIN)
model = DDP(torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4)))
opt = torch.optim.AdamW(model.parameters(), 1e-2)
for ep in range(a.epochs):
    for i in range(0, int(n) - 3, 4):
        x = torch.stack([d[0] for d in data[i:i + 4]]); y = torch.tensor([d[1] for d in data[i:i + 4]])
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0:
            log.info("epoch %d step %d loss %.4f", ep, i // 4, loss.item())
dist.destroy_process_group()
if rank == 0:
    print("Done.")
