import torch, torch.distributed as dist, ecs
from tracker import Tracker
log = ecs.get("train"); dist.init_process_group("gloo"); r = dist.get_rank()
t = Tracker("http://127.0.0.1:48454/api/runs/log") if r == 0 else None
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(20, 20)); o = torch.optim.SGD(m.parameters(), 0.05)
for s in range(120):
    x = torch.randn(16, 20); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    log.info("step %d/120 loss %.4f", s + 1, l.item())
    if t and s % 10 == 0: t.send(step=s, loss=l.item())
if t: t.close(); torch.save(m.module.state_dict(), "final.pt"); log.info("saved final.pt")
dist.barrier(); log.info("training complete"); dist.destroy_process_group()
