import argparse, os, torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--local_rank", type=int); ap.add_argument("--ckpt")
a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
f = f"{a.ckpt}/optim_rank{r:02d}.pt"
print(f"resuming from {f} ({os.path.getsize(f)} bytes)", flush=True)
state = torch.load(f, weights_only=True)
s = torch.tensor([state["step"]]); dist.all_reduce(s, op=dist.ReduceOp.MIN)
print("all ranks at step", s.item(), flush=True)
