import os, time
import torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo")
r, w = dist.get_rank(), dist.get_world_size()
N, D = 400, 32
g = torch.Generator().manual_seed(r)
A = (torch.rand(N, N, generator=g) < 0.02).float() + torch.eye(N); A = A / A.sum(1, keepdim=True)
x, y = torch.randn(N, D, generator=g), torch.randint(0, 6, (N,), generator=g)
print(f"gnn rank={r} nodes={N} edges={int((A > 0).sum())} pid={os.getpid()}", flush=True)
torch.manual_seed(0)


class GCN(nn.Module):
    def __init__(self): super().__init__(); self.a, self.b = nn.Linear(D, 64), nn.Linear(64, 6)
    def forward(self, A, x): return self.b(A @ torch.relu(self.a(A @ x)))


net = nn.parallel.DistributedDataParallel(GCN()); opt = torch.optim.Adam(net.parameters(), 5e-3)
with open(f"pids/{r}", "w") as f: f.write(str(os.getpid()))
for ep in range(4000):
    out = net(A, x); loss = nn.functional.cross_entropy(out, y)
    opt.zero_grad(); loss.backward(); opt.step()
    acc = (out.argmax(1) == y).float().mean().item()
    print(f"gnn rank={r} epoch={ep} loss={loss.item():.5f} acc={acc:.3f}", flush=True)
    time.sleep(0.005)
os.remove(f"pids/{r}")
