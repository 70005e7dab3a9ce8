import datetime, os
import torch, torch.distributed as dist
print(f"fit.py: rank {os.environ['RANK']} / world {os.environ['WORLD_SIZE']}")
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
print("joined", dist.get_rank(), dist.get_world_size())
t = torch.ones(3); dist.all_reduce(t)
print("sum", t.tolist())
