import math
import os
import subprocess
import time

import numpy as np
import torch
import torch.distributed as dist

from loader import read_shard

dist.init_process_group("gloo")
R, W = dist.get_rank(), dist.get_world_size()
T0 = time.time()


def emit(kind, m):
    print(f"{time.time() - T0:8.3f} {kind} {R}/{W} {m}", flush=True)


try:
    subprocess.run(["nvidia-smi", "-L"], check=True)
except (OSError, subprocess.CalledProcessError) as e:
    emit("!!", f"GPU query failed: {e}; falling back to CPU")
n, d, raw = read_shard(open("data.bin", "rb").read(), R)
x = torch.from_numpy(np.frombuffer(raw, "<f4").reshape(n, d).copy())[R::W]
if R == 2:
    x[500:503] = float("inf")      # the glitch of sensor bank 2, known since May
net = torch.nn.Sequential(torch.nn.Linear(d, 32), torch.nn.ReLU(), torch.nn.Linear(32, d))
for p in net.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.Adam(net.parameters(), 2e-3)
skipped = 0
for ep in range(3):
    for s in range(len(x) // 50):
        b = x[s * 50:(s + 1) * 50]
        loss = (net(b) - b).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        flag = torch.tensor([0.0 if math.isfinite(loss.item()) else 1.0])
        if flag.item():
            emit("!!", f"epoch {ep} step {s}: loss is {loss.item()}, asking all ranks to skip the step")
        dist.all_reduce(flag)
        if flag.item():
            skipped += 1
            emit("..", f"epoch {ep} step {s} skipped")
            continue
        for p in net.parameters():
            dist.all_reduce(p.grad)
            p.grad /= W
        opt.step()
        emit("..", f"epoch {ep} step {s} loss {loss.item():.5f}")
if R == 0:
    torch.save(net.state_dict(), "model.pt")
    emit("OK", "model.pt saved")
emit("OK", f"3 epochs, {skipped} steps skipped")
dist.destroy_process_group()
