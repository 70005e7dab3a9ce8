import argparse, os, sys, time
from datetime import timedelta
import torch
import torch.distributed as dist

ap = argparse.ArgumentParser(); ap.add_argument("--state"); ap.add_argument("--total", type=int)
a = ap.parse_args()
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
rk = dist.get_rank()
tag = f"node{rk} |"
st = torch.load(os.path.join(a.state, "last.pt"))
print(tag, "resuming", a.state, "at step", st["step"], file=sys.stderr)
g = st["g"].requires_grad_()
opt = torch.optim.SGD([g], lr=.1)
step = st["step"]
while step < a.total:
    z = torch.randn(32, 24)
    loss = (z @ g - z).pow(2).mean()
    opt.zero_grad(); loss.backward()
    dist.all_reduce(g.grad); g.grad /= dist.get_world_size()
    opt.step()
    step += 1
    if rk == 0:
        print(tag, f"step {step} of {a.total} g_loss {loss.item():.4f}", file=sys.stderr)
    time.sleep(.01)
torch.save({"step": step, "g": g.detach()}, os.path.join(a.state, "last.pt"))
