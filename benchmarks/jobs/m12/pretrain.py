import argparse, datetime, os, sys, yaml
print(f"pid {os.getpid()} is member {os.environ['RANK']} of {os.environ['WORLD_SIZE']}")
import torch, torch.distributed as dist
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=15))
print(f"member {dist.get_rank()}: connected")
from textkit import clean
ap = argparse.ArgumentParser(); ap.add_argument("--config"); cfg = yaml.safe_load(open(ap.parse_args().config))
w = torch.zeros(26)
for s in range(cfg["steps"]):
    t = clean("The  quick brown   fox")
    g = torch.tensor([float(t.count(chr(97 + i))) for i in range(26)]) - w
    dist.all_reduce(g); w += cfg["lr"] * g
print("norm", w.norm().item())
