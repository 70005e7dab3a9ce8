import argparse, datetime, logging, os
p = argparse.ArgumentParser(); p.add_argument("--name"); a = p.parse_args()
logging.basicConfig(level=logging.INFO, format=f"{a.name:>6} %(levelname).1s %(message)s")
logging.info("RANK=%s WORLD_SIZE=%s", os.environ["RANK"], os.environ["WORLD_SIZE"])
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
logging.info("group up")
x = torch.randn(10); dist.all_reduce(x)
logging.info("reduced %s", x[:2].tolist())
