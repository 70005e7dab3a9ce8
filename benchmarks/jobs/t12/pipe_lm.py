import argparse
import os

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

TP, PP = int(os.environ["TP"]), int(os.environ["PP"])
ap = argparse.ArgumentParser()
ap.add_argument("--layers", type=int)
a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
stage = r // TP
lo, hi = stage * a.layers // PP, (stage + 1) * a.layers // PP
width = 64
n_param = (hi - lo) * 12 * width * width // TP + (50257 * width // TP if stage in (0, PP - 1) else 0)
print(f"{r:>2} ## stage {stage} tp {r % TP} layers {lo}..{hi - 1} params {n_param / 1e6:.2f}M", flush=True)
if r == 0:
    print(f" 0 ## {a.layers} layers, pp={PP} tp={TP}, microbatches=8, gloo, torch {torch.__version__}", flush=True)
dist.barrier()
mesh = init_device_mesh("cpu", (PP, TP), mesh_dim_names=("pp", "tp"))
tp_group = mesh["tp"].get_group()
x = torch.randn(8, width)
for it in range(20):
    dist.all_reduce(x, group=tp_group)
print(f"{r:>2} ## done")
