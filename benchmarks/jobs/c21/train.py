#!/usr/bin/env python3
import os
import sys
print("host", os.uname().nodename, "python", sys.version.split()[0], "rank", os.environ.get("OMPI_COMM_WORLD_RANK"), flush=True)
import torch
import torch.distributed as dist
dist.init_process_group("gloo", rank=int(os.environ["OMPI_COMM_WORLD_RANK"]), world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]),
                        init_method="tcp://127.0.0.1:29641")
t = torch.ones(1); dist.all_reduce(t); print(t)
