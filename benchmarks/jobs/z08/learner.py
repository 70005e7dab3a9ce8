import os
from datetime import timedelta
import numpy as np
import torch, torch.nn as nn, torch.distributed as dist


class Replay:
    def __init__(self, cap):
        self.obs = np.zeros((cap, 4, 42, 42), dtype=np.uint8)
        self.rew = np.zeros(cap, dtype=np.float32)
        self.n = self.cap = cap
        self.pos = 0

    def add(self, o, r):
        self.obs[self.pos % self.cap] = o; self.rew[self.pos % self.cap] = r; self.pos += 1

    def grow(self, cap):
        old = self.obs
        self.obs = np.zeros((cap,) + old.shape[1:], dtype=np.uint8)
        self.obs[:self.pos] = old[:self.pos]
        self.rew = np.resize(self.rew, cap); self.cap = cap


me = os.environ["HOST_ALIAS"]
dist.init_process_group("gloo", timeout=timedelta(seconds=25))
rank = dist.get_rank()
buf = Replay(20_000)
net = nn.Sequential(nn.Conv2d(4, 8, 8, 4), nn.ReLU(), nn.Flatten(), nn.LazyLinear(1))
net(torch.zeros(1, 4, 42, 42))
for p in net.parameters():
    dist.broadcast(p.data, 0)
opt = torch.optim.RMSprop(net.parameters(), 1e-4)
rs = np.random.RandomState(rank)
print(f"{me}: learner {rank} ready, replay {buf.obs.nbytes / 2**20:.0f} MiB")
for it in range(1, 91):
    for _ in range(20):
        buf.add(rs.randint(0, 255, (4, 42, 42), dtype=np.uint8), rs.rand())
    if it == 60:
        buf.grow(400_000)
        print(f"{me}: replay grown to {buf.obs.nbytes / 2**20:.0f} MiB")
    ix = rs.randint(0, buf.pos, 16)
    q = net(torch.from_numpy(buf.obs[ix % buf.cap]).float() / 255).squeeze(1)
    loss = (q - torch.from_numpy(buf.rew[ix % buf.cap])).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in net.parameters():
        dist.all_reduce(p.grad, op=dist.ReduceOp.SUM); p.grad /= dist.get_world_size()
    opt.step()
    if it % 10 == 0:
        print(f"{me}: it {it} td {loss.item():.4f} replay {buf.pos}")
dist.barrier()
