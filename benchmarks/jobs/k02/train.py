import os, sys, time
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(0)
m = DDP(nn.Linear(10, 1))
o = torch.optim.Adam(m.parameters(), 1e-2)
start = 0
if os.path.exists("ckpt/last.pt"):
    s = torch.load("ckpt/last.pt")
    m.module.load_state_dict(s["model"]); o.load_state_dict(s["opt"]); start = s["step"] + 1
    if rank == 0: print("=> resumed from ckpt/last.pt at step", start, flush=True)
cache = {}
for step in range(start, 60):
    x = torch.randn(16, 10)
    loss = (m(x) - x.sum(1, keepdim=True)).pow(2).mean()
    o.zero_grad(); loss.backward(); o.step()
    if rank == 2:
        cache[step] = x
        # keep the hardest batch of the last 20
        if len(cache) > 20:
            hardest = max(cache, key=lambda k: cache[k].norm())
            del cache[step - 20]
            best = cache[hardest]
    if rank == 0:
        if step % 5 == 0: print(f"step {step:3d}/60 | loss {loss.item():.4f}", flush=True)
        if step % 10 == 9:
            os.makedirs("ckpt", exist_ok=True)
            torch.save({"model": m.module.state_dict(), "opt": o.state_dict(), "step": step}, "ckpt/last.pt.tmp")
            os.replace("ckpt/last.pt.tmp", "ckpt/last.pt")
    time.sleep(0.05)
dist.barrier()
if rank == 0: print("training complete")
dist.destroy_process_group()
