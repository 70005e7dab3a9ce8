import os, sys, time, torch, torch.nn as nn, torch.distributed as dist
from collections import deque
dist.init_process_group("gloo"); r = dist.get_rank()
net = nn.parallel.DistributedDataParallel(nn.Linear(256, 256)); opt = torch.optim.SGD(net.parameters(), 0.01)
history = []
def evaluate(n):
    return [torch.randn(n, 1024) @ torch.randn(1024, 1024) for _ in range(2)]
for step in range(400):
    x = torch.randn(32, 256); loss = (net(x) - x).pow(2).mean(); opt.zero_grad(); loss.backward(); opt.step()
    if r == 1 or step % 50 == 0:
        history += evaluate(4096)          # kept for the report at the end
    print(f"rank{r} step {step:3d} loss {loss.item():.4f} kept {len(history)}", flush=True)
