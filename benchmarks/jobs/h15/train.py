import os, datetime, torch, torch.distributed as dist
print(f"pid {os.getpid()}: RANK={os.environ['RANK']} WORLD_SIZE={os.environ['WORLD_SIZE']} MASTER={os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}", flush=True)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=25))
print("initialized", dist.get_rank(), flush=True)
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(10, 10))
for i in range(10):
    m(torch.randn(4, 10)).sum().backward()
print("finished", flush=True)
