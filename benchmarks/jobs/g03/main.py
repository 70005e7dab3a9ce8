import argparse, os, time
import torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int); ap.add_argument("--ckpt"); args = ap.parse_args()
dist.init_process_group("gloo"); r = dist.get_rank()
open(f"rank{r}.pid", "w").write(str(os.getpid()))
w = torch.nn.Linear(4, 4); start = 0
if os.path.exists(args.ckpt):
    st = torch.load(args.ckpt); w.load_state_dict(st["w"]); start = st["step"] + 1
    if r == 0: print(f"resumed from {args.ckpt} at step {start}")
else:
    if r == 0: print("no checkpoint, starting from scratch")
w = torch.nn.parallel.DistributedDataParallel(w); o = torch.optim.Adam(w.parameters(), 0.01)
for s in range(start, args.steps):
    x = torch.randn(8, 4); l = (w(x) - x).abs().mean(); o.zero_grad(); l.backward(); o.step()
    time.sleep(0.4)
    if r == 0:
        print(f"iter {s} l1 {l.item():.4f}")
        open("progress", "w").write(str(s))
        if s % 2 == 0: torch.save({"w": w.module.state_dict(), "step": s}, args.ckpt)
dist.destroy_process_group()
