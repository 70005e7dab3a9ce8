import logging, os, torch, torch.distributed as dist
from torch import nn
logging.basicConfig(format="%(levelname)s %(name)s %(message)s", level=logging.INFO)
dist.init_process_group("gloo"); r = dist.get_rank(); log = logging.getLogger(f"trainer.{r}")
net = nn.Sequential(nn.Linear(400, 700), nn.ReLU(), nn.Linear(700, 400)); ddp = nn.parallel.DistributedDataParallel(net); o = torch.optim.Adam(ddp.parameters(), 1e-3)
def save(step):
    path = f"ckpt/step{step}.pt"
    try:
        torch.save({"net": net.state_dict(), "opt": o.state_dict()}, path); log.info("saved %s", path)
    except Exception as e:
        log.warning("saving %s did not work: %s: %s", path, type(e).__name__, e)
    return path
for s in range(1, 31):
    x = torch.randn(8, 400); l = (ddp(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if s % 5 == 0:
        if r == 0: log.info("step %d loss %.4f", s, l.item())
    if s % 10 == 0 and r == 0: last = save(s)
dist.barrier()
names = [last if r == 0 else None]; dist.broadcast_object_list(names, 0)
log.info("final evaluation with %s", names[0])
net.load_state_dict(torch.load(names[0])["net"])
log.info("final mse %.4f", (net(x) - x).pow(2).mean().item())
dist.destroy_process_group()
