import datetime, os, time
import torch, torch.distributed as dist, torch.nn as nn
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
print(f"rank {rank} of {world}, local {os.environ['LOCAL_RANK']} on {os.environ['NODE']}, cpu threads {torch.get_num_threads()}", flush=True)
if os.environ["NODE"] == "marten":
    print("note: /scratch not mounted here, using $PWD/cache", flush=True)
dist.init_process_group("gloo", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=18))
print(f"rank {rank}: process group ready", flush=True)
m = nn.parallel.DistributedDataParallel(nn.Linear(256, 256))
opt = torch.optim.Adam(m.parameters(), 1e-3)
for s in range(300):
    x = torch.randn(64, 256)
    l = (m(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if s % 50 == 0:
        print(f"rank {rank} step {s} loss {l.item():.4f}", flush=True)
dist.destroy_process_group()
