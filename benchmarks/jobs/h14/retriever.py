import os, sys, time, datetime, torch, torch.distributed as dist
from index import build_or_load
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); w = int(os.environ["OMPI_COMM_WORLD_SIZE"])
log = lambda m: print(f"{time.strftime('%H:%M:%S')} p{r}> {m}", flush=True)
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29824", rank=r, world_size=w,
                        timeout=datetime.timedelta(seconds=18))
os.makedirs("cache", exist_ok=True)
log("encoder loaded")
idx = build_or_load(r, log)
log(f"index has {len(idx)} entries")
n = torch.tensor([len(idx)]); dist.all_reduce(n)
log(f"{n.item()} passages in all")
