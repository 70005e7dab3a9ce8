import os, sys, datetime, torch, torch.distributed as dist
name = sys.argv[1]
print(f"{name}: rank {os.environ['RANK']}, store at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=21))
t = torch.ones(2); dist.all_reduce(t)
print(f"{name}: all-reduce {t.tolist()}", flush=True)
