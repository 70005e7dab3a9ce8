import os, sys, random
import torch, torch.nn as nn, torch.distributed as dist
from sync import SkipMeter, average_gradients

dist.init_process_group("gloo")
rk = dist.get_rank()
random.seed(100 + rk); torch.manual_seed(0)
model = nn.Sequential(nn.Linear(40, 128), nn.ReLU(), nn.Linear(128, 32))
opt = torch.optim.SGD(model.parameters(), 0.01)
meter = SkipMeter()
manifest = open("manifest.txt").read().split()[rk]
corpus, too_short = manifest.split(":")
print(f"[rank {rk}] corpus {corpus}", flush=True)
for step in range(1, 301):
    utts = [torch.randn(random.randint(20, 60), 40) for _ in range(16)]
    lens = [0 if random.random() < float(too_short) else len(u) for u in utts]
    ok = [u for u, n in zip(utts, lens) if n]
    meter.update(len(utts) - len(ok))
    x = torch.cat(ok)
    loss = model(x).pow(2).mean()
    opt.zero_grad(); loss.backward()
    average_gradients(model)
    opt.step()
    if step % 5 == 0:
        print(f"[rank {rk}] step {step} loss {loss.item():.5f} frames {len(x)} skipped {meter.bad}", flush=True)
