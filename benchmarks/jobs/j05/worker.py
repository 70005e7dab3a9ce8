import argparse, os, yaml, logging, torch, torch.distributed as dist
from datetime import timedelta
p = argparse.ArgumentParser(); p.add_argument("--cfg"); a = p.parse_args()
cfg = yaml.safe_load(open(a.cfg))
logging.basicConfig(level=logging.INFO, format="%(asctime)s worker %(message)s")
e = os.environ
logging.info("MASTER %s:%s RANK=%s WORLD_SIZE=%s", e["MASTER_ADDR"], e["MASTER_PORT"], e["RANK"], e["WORLD_SIZE"])
dist.init_process_group("gloo", timeout=timedelta(seconds=cfg["init_timeout"]))
logging.info("process group ready")
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 8)); opt = torch.optim.SGD(net.parameters(), cfg["lr"])
for s in range(cfg["steps"]):
    l = net(torch.randn(4, 8)).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    logging.info("step %d %.4f", s, l.item())
