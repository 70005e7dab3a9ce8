import os, argparse
os.environ["RANK"] = os.environ["OMPI_COMM_WORLD_RANK"]
os.environ["WORLD_SIZE"] = os.environ["OMPI_COMM_WORLD_SIZE"]
os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
import torch, torch.nn as nn, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import parallelize_module, ColwiseParallel, RowwiseParallel

p = argparse.ArgumentParser(); p.add_argument("--dp", type=int, default=1); p.add_argument("--tp", type=int, default=2)
a = p.parse_args()
dist.init_process_group("gloo")
print(f"rank {dist.get_rank()}/{dist.get_world_size()} up, dp={a.dp} tp={a.tp}", flush=True)
mesh = init_device_mesh("cpu", (a.dp, a.tp), mesh_dim_names=("dp", "tp"))
net = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 32))
parallelize_module(net, mesh["tp"], {"0": ColwiseParallel(), "2": RowwiseParallel()})
for i in range(10):
    l = net(torch.ones(4, 32)).sum(); l.backward()
    print(i, l.item(), flush=True)
