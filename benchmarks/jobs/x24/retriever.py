import argparse, os, struct, sys
from datetime import timedelta
import torch, torch.distributed as dist

ap = argparse.ArgumentParser(); ap.add_argument("--index"); a = ap.parse_args()
dist.init_process_group("gloo", timeout=timedelta(seconds=30))
r, n = dist.get_rank(), dist.get_world_size()
print(f"[{r}] run {os.environ['RUN_NO']}, world {n}", flush=True)
start, w = 0, torch.zeros(16, requires_grad=True)
if os.path.exists("retr.pt"):
    d = torch.load("retr.pt"); start = d["step"]; w.data.copy_(d["w"])
    print(f"[{r}] continue at step {start}", flush=True)
dist.barrier()
PER = {0: range(0, 60), 1: range(60, 130), 2: range(130, 200)}[r]
f = open(a.index, "rb")
f.read(4)
f.seek(4 + 64 * PER.start)
rows = [struct.unpack("<16f", f.read(64)) for _ in PER]
x = torch.tensor(rows)
for s in range(start, 300):
    loss = (x @ w - 1).pow(2).mean()
    loss.backward(); dist.all_reduce(w.grad)
    w.data -= .02 * w.grad / n; w.grad = None
    if r == 0 and s % 20 == 0:
        print(f"[{r}] step {s} loss {loss.item():.4f}", flush=True)
        torch.save({"step": s, "w": w.data}, "retr.pt")
dist.barrier()
print(f"[{r}] all 300 steps done", flush=True)
dist.destroy_process_group()
