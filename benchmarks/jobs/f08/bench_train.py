import time, torch, torch.nn as nn
torch.manual_seed(1)

class Block(nn.Module):
    def __init__(s, d):
        super().__init__()
        s.n = nn.LayerNorm(d); s.f = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
    def forward(s, x):
        return x + s.f(s.n(x))

model = nn.Sequential(*[Block(64) for _ in range(2)])
opt = torch.optim.SGD(model.parameters(), 0.01)

def step(m):
    x = torch.randn(16, 64); l = m(x).square().mean(); l.backward(); opt.step(); opt.zero_grad(); return l.item()

t = time.time()
for i in range(10): l = step(model)
print(f"eager     10 steps  {time.time()-t:.3f}s  loss {l:.4f}", flush=True)
compiled = torch.compile(model)
t = time.time()
for i in range(10): l = step(compiled)
print(f"compiled  10 steps  {time.time()-t:.3f}s  loss {l:.4f}", flush=True)
