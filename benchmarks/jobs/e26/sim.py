import os, time, torch, torch.distributed as dist
r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", init_method="tcp://127.0.0.1:29746", rank=r, world_size=w)
t0 = time.time(); ep = 0
pol = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 2))
while time.time() - t0 < 100:
    obs, ret = torch.randn(64, 8), 0.0
    for _ in range(300):
        with torch.no_grad(): a = pol(obs)
        obs = 0.95 * obs + 0.1 * a.sum(1, keepdim=True) + 0.05 * torch.randn_like(obs)
        ret -= obs.pow(2).mean().item()
    s = torch.tensor([ret]); dist.all_reduce(s); ep += 1
    if r == 0 and ep % 20 == 0: print(f"episode {ep} mean return {s.item()/w:.2f}")
