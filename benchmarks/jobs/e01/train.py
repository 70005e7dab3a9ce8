import json, os, time
import torch, torch.nn as nn, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(17)
model = DDP(nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 10)))
opt = torch.optim.AdamW(model.parameters(), lr=3e-4)
os.makedirs("hb", exist_ok=True)
if rank == 0:
    print(f"{sum(p.numel() for p in model.parameters())/1e3:.1f}k parameters, {world} processes", flush=True)
g = torch.Generator().manual_seed(rank)
t = time.time()
for step in range(1, 401):
    x = torch.randn(32, 128, generator=g); y = torch.randint(0, 10, (32,), generator=g)
    loss = nn.functional.cross_entropy(model(x), y)
    opt.zero_grad(); loss.backward(); opt.step()
    json.dump({"pid": os.getpid(), "step": step}, open(f"hb/{rank}.json", "w"))
    if rank == 0:
        print(f"step {step:4d}/400  loss {loss.item():.4f}  {step*32*world/(time.time()-t):.1f} samples/s", flush=True)
    time.sleep(0.25)
