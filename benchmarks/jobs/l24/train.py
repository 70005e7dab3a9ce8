import sys, time, os, torch, torch.nn as nn, torch.distributed as dist
dist.init_process_group("gloo"); rank = dist.get_rank()
net = nn.parallel.DistributedDataParallel(nn.Linear(16, 16)); opt = torch.optim.SGD(net.parameters(), 0.05)
N = 500
try:
    for s in range(N):
        x = torch.randn(16, 16); l = (net(x) - x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
        time.sleep(0.1)
        if rank == 0 and s % 10 == 0: print(f"step {s}/{N}  loss {l.item():.4f}  {s / N:.0%}", flush=True)
finally:
    if rank == 0:
        torch.save(net.module.state_dict(), "model.pt"); print("model.pt saved", flush=True)
