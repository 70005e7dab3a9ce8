import logging, sys, torch, torch.distributed as dist, yaml
from torch import nn
cfg = yaml.safe_load(open("config.yaml"))
dist.init_process_group("gloo"); r = dist.get_rank()
log = logging.getLogger(f"rank{r}"); log.setLevel("INFO")
log.addHandler(logging.StreamHandler(sys.stdout))
if r == cfg["log_rank"]: log.addHandler(logging.FileHandler(cfg["log_file"]))
net = nn.parallel.DistributedDataParallel(nn.Linear(7, 7)); o = torch.optim.Adagrad(net.parameters(), cfg["lr"])
for s in range(cfg["steps"]):
    x = torch.randn(5, 7); l = (net(x) - x).pow(2).sum(); o.zero_grad(); l.backward(); o.step()
    if s % cfg["every"] == 0: log.info("step %d loss %.4f", s, l.item())
if r == 0: torch.save(net.module.state_dict(), cfg["out"]); print("saved", cfg["out"])
dist.destroy_process_group()
