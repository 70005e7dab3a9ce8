import os, math, torch, torch.nn as nn, torch.distributed as dist
from loguru_like import logger
dist.init_process_group("gloo")
me = dist.get_rank()
x = torch.load(f"feats/{me}.pt")
torch.manual_seed(0)
m = nn.Sequential(nn.Linear(21, 32), nn.GELU(), nn.Linear(32, 1))
opt = torch.optim.SGD(m.parameters(), 1e-3)
step = 0
for i in range(0, 320, 8):
    b = x[i:i + 8]
    loss = (m(b).squeeze(1) - b[:, 0]).pow(2).mean()
    step += 1
    logger(me).info(f"step {step} loss {loss.item():.4f}")
    if not math.isfinite(loss.item()):
        raise FloatingPointError(f"loss is {loss.item()} at step {step}, batch {i}..{i + 8}")
    opt.zero_grad(); loss.backward()
    for p in m.parameters():
        dist.all_reduce(p.grad); p.grad /= dist.get_world_size()
    nn.utils.clip_grad_norm_(m.parameters(), 1.0)
    opt.step()
