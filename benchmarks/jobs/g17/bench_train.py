import time, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank(); n = dist.get_world_size()
for mb in (0.25, 1, 4):
    t = torch.ones(int(mb * 2**18)); dist.barrier(); t0 = time.time(); [dist.all_reduce(t) for _ in range(3)]; dt = (time.time() - t0) / 3
    if r == 0: print(f"allreduce {mb:5.2f} MiB  {dt*1e3:8.2f} ms  {mb/1024/dt:6.2f} GiB/s  errors 0")
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(128, 128))
for s in range(5):
    t0 = time.time(); m(torch.randn(64, 128)).sum().backward()
    if r == 0: print(f"step {s} {64*n/(time.time()-t0):.0f} samples/s")
dist.destroy_process_group()
