import argparse, glob, logging, os
import torch
import torch.distributed as dist
from torch import nn
from model import Ranker, batch

ap = argparse.ArgumentParser()
ap.add_argument("--ckpt-dir"); ap.add_argument("--steps", type=int)
a = ap.parse_args()
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{rank}/{world} %(name)s %(message)s")
log = logging.getLogger("ranker")
m = Ranker(); opt = torch.optim.AdamW(m.parameters(), 1e-3)
log.info("parameters: %d", sum(p.numel() for p in m.parameters()))
start = torch.zeros(1, dtype=torch.long)
if rank == 0:
    last = sorted(glob.glob(os.path.join(a.ckpt_dir, "ranker-*.pt")))[-1]
    log.info("continuing from %s", last)
    ck = torch.load(last, map_location="cpu", weights_only=True)
    m.load_state_dict(ck["model"]); opt.load_state_dict(ck["opt"]); start[0] = ck["step"]
else:
    log.info("waiting for the weights of rank 0")
dist.broadcast(start, 0)
for p in m.parameters():
    dist.broadcast(p.data, 0)
for s in range(int(start) + 1, int(start) + a.steps + 1):
    x, y = batch(s * world + rank)
    l = nn.functional.binary_cross_entropy_with_logits(m(x), y)
    opt.zero_grad(); l.backward()
    for p in m.parameters():
        dist.all_reduce(p.grad); p.grad /= world
    opt.step()
    if s % 10 == 0 and rank == 0:
        log.info("step %d bce %.4f", s, l.item())
dist.destroy_process_group()
