import os, time, torch, torch.distributed as dist
rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4423", rank=rank, world_size=int(os.environ["OMPI_COMM_WORLD_SIZE"]))
os.makedirs("state", exist_ok=True)
with open(f"state/actor{rank}", "w") as f: f.write(str(os.getpid()))
for it in range(1, 300):
    ret = torch.randn(64).cumsum(0).mean()
    dist.all_reduce(ret)
    if rank == 0: print(f"iteration {it}: mean return {ret.item():+.3f}", flush=True)
    with open(f"state/iter{rank}", "w") as f: f.write(str(it))
    time.sleep(0.3)
