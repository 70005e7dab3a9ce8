import os, sys, torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo")
rank = dist.get_rank()
scratch = f"scratch/node{rank}"
m = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 512))
opt = torch.optim.Adam(m.parameters(), 1e-3)
for step in range(1, 31):
    x = torch.randn(8, 512)
    loss = (m(x) - x).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in m.parameters(): dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
    opt.step()
    if step % 5 == 0:
        print(f"step {step} loss {loss.item():.4f}", flush=True)
    if step % 10 == 0:
        torch.save({"model": m.state_dict(), "opt": opt.state_dict(), "step": step}, f"{scratch}/state_{step}.pt")
        print(f"saved local state {step}", flush=True)
        dist.barrier()
dist.destroy_process_group()
