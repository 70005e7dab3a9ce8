import os, sys, torch, torch.distributed as dist
from datetime import timedelta
tag = f"w{os.environ['RANK']}/{os.environ['WORLD_SIZE']}"
print(f"{tag}: torch {torch.__version__}, joining", flush=True)
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
print(f"{tag}: joined", flush=True)
p = torch.zeros(100)
for k in range(10):
    g = torch.randn(100); dist.all_reduce(g); p -= 0.01 * g
    print(f"{tag}: round {k} {p.norm():.3f}", flush=True)
