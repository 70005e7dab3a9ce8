import os, sys, time, datetime, torch, torch.distributed as dist
r, W, N = (int(os.environ[k]) for k in ("RANK", "WORLD_SIZE", "STEPS"))
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
torch.manual_seed(3)
w = torch.zeros(30); s0 = 0
if os.path.exists("c.pt"): w, s0 = torch.load("c.pt"); print("continue from step", s0, "with", W, "workers")
true = torch.arange(30.0) / 30
g = torch.Generator().manual_seed(10 * W + r)
for s in range(s0 + 1, N + 1):
    x = torch.randn(64, 30, generator=g)
    e = x @ w - x @ true
    grad = x.t() @ e / 64
    dist.all_reduce(grad); w -= 0.05 * grad / W
    time.sleep(0.03)
    if s % 2 == 0: print(f"step {s} mse {(e ** 2).mean():.5f}")
    if s % 10 == 0:
        if r == 0: torch.save((w, s), "c.tmp"); os.replace("c.tmp", "c.pt")
        dist.barrier()
if r == 0: torch.save(w, "model.final.pt"); print("model.final.pt saved at step", N)
dist.barrier(); dist.destroy_process_group()
