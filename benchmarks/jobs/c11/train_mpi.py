import os, json, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def shard(path):
    with open(path) as f:
        lines = f.readlines()
    n = len(lines) // world
    return lines[rank * n:(rank + 1) * n]

def collate(lines):
    recs = [json.loads(l) for l in lines]
    return torch.tensor([r["feats"] for r in recs]), torch.tensor([r["target"] for r in recs])

dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{os.environ['MASTER_PORT']}", rank=rank, world_size=world)
data = shard("train.jsonl")
print(f"shard: {len(data)} records", flush=True)
net = DDP(nn.Sequential(nn.Linear(16, 32), nn.Tanh(), nn.Linear(32, 4)))
opt = torch.optim.SGD(net.parameters(), lr=0.05)
bs = 16
for ep in range(2):
    for k in range(0, len(data), bs):
        x, y = collate(data[k:k + bs])
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if k % 64 == 0: print(f"epoch {ep} iter {k // bs} loss {loss.item():.4f}", flush=True)
dist.destroy_process_group()
