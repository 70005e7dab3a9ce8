import os, time, torch, torch.nn as nn, torch.distributed as dist
env = os.environ
rank, world = int(env["OMPI_COMM_WORLD_RANK"]), int(env["OMPI_COMM_WORLD_SIZE"])
env.update(RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1")
dist.init_process_group("gloo")
os.makedirs("run", exist_ok=True); open(f"run/worker{rank}.pid", "w").write(str(os.getpid()))
pol = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 2)); opt = torch.optim.Adam(pol.parameters(), 3e-4)
for upd in range(200):
    obs = torch.randn(128, 8); act = (obs.sum(1) > 0).long()
    logp = torch.log_softmax(pol(obs), -1).gather(1, act[:, None]).mean()
    opt.zero_grad(); (-logp).backward()
    for p in pol.parameters():
        dist.all_reduce(p.grad); p.grad /= world
    opt.step(); time.sleep(0.4)
    print(f"[worker {rank}] update {upd} logp {logp.item():.3f}", flush=True)
    open(f"run/worker{rank}.upd", "w").write(str(upd))
