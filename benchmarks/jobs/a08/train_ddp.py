import os
from datetime import timedelta
import torch, torch.distributed as dist

rank = int(os.environ["SLURM_PROCID"] if "SLURM_PROCID" in os.environ else os.environ["RANK"])
world = int(os.environ["WORLD_SIZE"])
print(f"rank {rank}/{world}: connecting to {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=20))
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
for step in range(100):
    loss = model(torch.randn(4, 10)).sum()
    loss.backward()
    print(f"rank {rank} step {step} loss {loss.item():.3f}", flush=True)
