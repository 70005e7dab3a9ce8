import os, struct, random
import torch, torch.distributed as dist
from torch import nn
rank, world = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
dist.init_process_group("gloo", rank=rank, world_size=world)


class ReplayFile:
    """transitions go to the local scratch disk, every actor has its own"""
    def __init__(self, path):
        self.f = open(path, "wb", buffering=1 << 16); self.n = 0
    def add(self, s, a, r, s2):
        self.f.write(struct.pack("<4fif4f", *s, a, r, *s2)); self.n += 1


class Env:
    def __init__(self, seed): self.rng = random.Random(seed); self.s = [0.0] * 4
    def step(self, a):
        old = self.s
        self.s = [max(-2, min(2, v + (a - 0.5) * .1 + self.rng.gauss(0, .05))) for v in old]
        return old, -sum(abs(v) for v in self.s), self.s


mem = ReplayFile(f"scratch/d{rank}/replay.bin")
env, recent = Env(rank), []
torch.manual_seed(0)
q = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)); opt = torch.optim.Adam(q.parameters(), 1e-3)
for it in range(400):
    for _ in range(40):
        a = random.randrange(2); s, r, s2 = env.step(a)
        mem.add(s, a, r, s2); recent = (recent + [(s, a, r, s2)])[-256:]
    b = random.sample(recent, 32)
    s, a, r, s2 = (torch.tensor([x[k] for x in b]) for k in range(4))
    tgt = r + .95 * q(s2).max(1).values.detach()
    loss = (q(s).gather(1, a[:, None])[:, 0] - tgt).pow(2).mean()
    opt.zero_grad(); loss.backward()
    for p in q.parameters(): dist.all_reduce(p.grad); p.grad /= world
    opt.step()
    if it % 10 == 0: print(f"actor {rank} it {it:3d} td {loss.item():.4f} replay {mem.n}")
print(f"actor {rank} closed replay with {mem.n} transitions")
