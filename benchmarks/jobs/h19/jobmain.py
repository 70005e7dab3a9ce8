import os, time, torch, torch.distributed as dist
r = int(os.environ["OMPI_COMM_WORLD_RANK"]); w = int(os.environ["OMPI_COMM_WORLD_SIZE"])
open(f"worker{r}.pid", "w").write(str(os.getpid()))
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29829", rank=r, world_size=w)
g = torch.Generator().manual_seed(r)
theta = torch.zeros(50)
for rnd in range(1, 100):
    delta = torch.randn(50, generator=g) * 0.1
    dist.all_reduce(delta)
    theta += delta / w
    if r == 0: print(f"round {rnd:03d}  |theta| {theta.norm():.4f}", flush=True)
    open(f"worker{r}.round", "w").write(str(rnd))
    time.sleep(0.4)
