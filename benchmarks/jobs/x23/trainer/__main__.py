import os, sys
import yaml
import torch.distributed as dist
from .core import train, banner
from datetime import timedelta

with open(sys.argv[1]) as f:
    c = yaml.safe_load(f)
host = os.path.splitext(os.path.basename(sys.argv[1]))[0]
banner(host, c)
dist.init_process_group("gloo", init_method=f"tcp://{c['master']}:{c['port']}", rank=c["rank"], world_size=c["world"], timeout=timedelta(seconds=8))
train(host)
