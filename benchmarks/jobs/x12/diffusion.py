import argparse, os, socket, sys, time
from datetime import timedelta
import torch
import torch.distributed as dist

T0 = time.time()
def note(*m):
    print("%s %6.2fs" % (os.environ["NODE_NAME"], time.time() - T0), *m, file=sys.stderr)

ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int, default=10); args = ap.parse_args()
rank, n = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["NNODES"])
note("node rank", rank, "nnodes", n, "head", os.environ["MASTER_ADDR"] + ":" + os.environ["MASTER_PORT"])
dist.init_process_group("gloo", rank=rank, world_size=n, timeout=timedelta(seconds=12))
note("group ready")
unet = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(16, 3, 3, padding=1))
unet = torch.nn.parallel.DistributedDataParallel(unet)
opt = torch.optim.AdamW(unet.parameters(), 1e-4)
for s in range(args.steps):
    x = torch.rand(4, 3, 32, 32); e = torch.randn_like(x)
    loss = (unet(x + e) - e).pow(2).mean()
    opt.zero_grad(); loss.backward(); opt.step()
    note("step", s, "eps-loss %.4f" % loss.item())
