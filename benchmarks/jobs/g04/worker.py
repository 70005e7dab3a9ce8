import json, os, sys, time
rank = int(os.environ["OMPI_COMM_WORLD_RANK"]); world = int(os.environ["OMPI_COMM_WORLD_SIZE"])
import torch, torch.distributed as dist
def ev(**k):
    print(json.dumps({"logger": "worker", "rank": rank, **k}), flush=True)
dist.init_process_group("gloo", rank=rank, world_size=world)
os.makedirs("work/stats", exist_ok=True)
path = f"work/stats/mean_{rank}.json"
# normalisation statistics are computed once and reused
if not os.path.exists(path):
    with open(path, "w") as f:
        json.dump({"mean": 0.1 * rank, "std": 1.0, "n": torch.arange(3).sum().item() if rank != 2 else 0}, f)
stats = json.load(open(path))
if stats["n"] == 0:
    ev(level="WARN", event="stats_stale", path=path)
    json.dump({**stats, "n": 3}, open(path, "w"))
    scale = 1 / stats["n"]
else:
    scale = 1 / stats["n"]
x = torch.tensor([scale])
for step in range(10):
    dist.all_reduce(x); x /= world
    time.sleep(0.05)
    if rank == 0: ev(level="INFO", event="step", step=step, value=round(x.item(), 5))
ev(level="INFO", event="finished")
dist.destroy_process_group()
