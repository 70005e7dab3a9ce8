import logging
import os

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
R, W = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.DEBUG, format=f"%(relativeCreated)7d ms | worker {R} pid {os.getpid()} | %(message)s")
log = logging.getLogger()
logging.getLogger("torch").setLevel(logging.WARNING)

# METIS partitions: (nodes, edges, feature dim of the halo)
part = [(21000, 160000, 96), (24500, 2900000, 96), (20100, 152000, 96)][R]
n, e, d = part
log.info("partition %d: %d nodes, %d edges", R, n, e)
g = torch.Generator().manual_seed(R)
src = torch.randint(0, n, (e,), generator=g)
dst = torch.randint(0, n, (e,), generator=g)
x = torch.randn(n, d, generator=g)
lin = torch.nn.Linear(d, d)
for p in lin.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.Adam(lin.parameters(), 1e-3)
fan = [0.01, 0.05, 0.2, 1.0]
for ep in range(8):
    k = int(e * fan[min(ep // 2, 3)])
    log.info("epoch %d: sampling %d edges", ep, k)
    s, t = src[:k], dst[:k]
    msg = lin(x)[s]                      # one row per edge
    h = torch.zeros(n, d).index_add_(0, t, msg)
    loss = (torch.tanh(h) - x).pow(2).mean()
    opt.zero_grad()
    loss.backward()
    for p in lin.parameters():
        dist.all_reduce(p.grad)
    opt.step()
    log.info("epoch %d: loss %.4f", ep, loss.item())
    if R == 0:
        torch.save(lin.state_dict(), "gnn.pt")
        log.debug("saved gnn.pt")
dist.destroy_process_group()
