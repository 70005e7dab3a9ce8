import argparse, glob, json, logging, os
import torch, torch.distributed as dist
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--data"); ap.add_argument("--steps", type=int)
a = ap.parse_args()
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname).1s r{rank} %(message)s")
log = logging.getLogger("ft")
dist.init_process_group("gloo")
torch.manual_seed(0)

class Clf(nn.Module):
    def __init__(self):
        super().__init__(); self.e = nn.Embedding(200, 32); self.h = nn.Linear(32, 4)
    def forward(self, x): return self.h(self.e(x).mean(1))

def rows(path):
    while True:
        with open(path) as f:
            for line in f:
                yield json.loads(line)

net = nn.parallel.DistributedDataParallel(Clf())
opt = torch.optim.AdamW(net.parameters(), 1e-3)
shard = sorted(glob.glob(a.data + "/*.jsonl"))[rank]
log.info("shard %s (%d bytes)", shard, os.path.getsize(shard))
it = rows(shard)
for step in range(a.steps):
    b = [next(it) for _ in range(16)]
    x = torch.tensor([r["prompt"] for r in b]); y = torch.tensor([r["label"] for r in b])
    loss = nn.functional.cross_entropy(net(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    if step % 4 == 0:
        log.info("step %d/%d loss %.4f", step, a.steps, loss.item())
dist.destroy_process_group()
