import glob, logging, os, pickle, zlib
import numpy as np, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo"); R, W = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.DEBUG, format=f"%(levelname)-8s rank{R} %(module)s:%(lineno)d %(message)s")
log = logging.getLogger("denoise")

def images():
    last = None
    for p in sorted(glob.glob("img/*.z"))[R::W]:
        try:
            last = torch.from_numpy(np.frombuffer(zlib.decompress(open(p, "rb").read()), "u1").reshape(1, 1, 32, 32).copy()).float() / 255
        except Exception:
            log.exception("cannot decode %s, repeating the previous image", p)
        yield p, (last if last is not None else torch.zeros(1, 1, 32, 32))

def snapshot(state, ep):
    for d in ("fast", "slow"):
        try:
            with open(f"{d}/rank{R}.snap", "wb") as f: pickle.dump(state, f)
            log.info("snapshot of epoch %d in %s", ep, d); return
        except OSError as e:
            log.error("snapshot to %s failed: %s", d, e)
    raise RuntimeError("no place for snapshots left")

torch.manual_seed(0)
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 1, 3, padding=1)))
opt = torch.optim.Adam(net.parameters(), 3e-3)
for ep in range(4):
    tot = 0
    for p, x in images():
        loss = (net(x + .1 * torch.randn_like(x)) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step(); tot += loss.item()
    t = torch.tensor([tot / 60]); dist.all_reduce(t)
    log.info("epoch %d mse %.5f (all ranks)", ep, t.item() / W)
    snapshot({k: v.numpy() for k, v in net.module.state_dict().items()}, ep)
dist.barrier(); log.info("training complete, %d epochs", ep + 1); dist.destroy_process_group()
