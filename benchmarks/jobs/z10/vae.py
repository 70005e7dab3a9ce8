import os, time, logging
from datetime import timedelta
import torch, torch.nn as nn, torch.distributed as dist

rank = int(os.environ["RANK"])
logging.basicConfig(format=f"%(levelname)s:%(relativeCreated)d:rank{rank}:%(message)s", level=logging.INFO)
lease = f"leases/{os.environ['SLOT']}"
dist.init_process_group("gloo", timeout=timedelta(seconds=30))
open(lease, "w").write(str(os.getpid()))
enc, dec = nn.Linear(256, 32), nn.Linear(16, 256)
ps = list(enc.parameters()) + list(dec.parameters())
opt = torch.optim.Adam(ps, 1e-3)
for p in ps:
    dist.broadcast(p.data, 0)
for step in range(1, 701):
    x = torch.rand(64, 256)
    mu, lv = enc(x).chunk(2, -1)
    z = mu + torch.randn_like(mu) * (lv / 2).exp()
    kl = -0.5 * (1 + lv - mu**2 - lv.exp()).sum(-1).mean()
    loss = nn.functional.mse_loss(dec(z), x, reduction="sum") / 64 + kl
    opt.zero_grad(); loss.backward()
    for p in ps:
        dist.all_reduce(p.grad); p.grad /= dist.get_world_size()
    opt.step()
    time.sleep(0.03)
    if step % 2 == 0:
        logging.info("step=%d elbo=%.3f kl=%.3f", step, -loss.item(), kl.item())
    if step % 40 == 0 and os.environ.get("LEASE", "on") == "on":
        os.utime(lease)
logging.info("finished")
