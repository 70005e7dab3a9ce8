import json, sys
import torch
c = json.loads(sys.argv[1])
torch.manual_seed(1)
x = torch.randn(64, 10, 16)
y = x.mean((1, 2))
inp = torch.nn.Linear(16, c["width"])
att = torch.nn.MultiheadAttention(c["width"], c["heads"], batch_first=True)
out = torch.nn.Linear(c["width"], 1)
ps = [*inp.parameters(), *att.parameters(), *out.parameters()]
opt = torch.optim.Adam(ps, lr=c["lr"])
for s in range(30):
    h = inp(x)
    h, _ = att(h, h, h)
    loss = (out(h.mean(1)).squeeze(-1) - y).pow(2).mean()
    if not torch.isfinite(loss) or loss > 1e6:
        raise FloatingPointError(f"loss diverged at step {s}: {loss.item()}")
    opt.zero_grad(); loss.backward(); opt.step()
    if s % 10 == 0:
        print(f"step {s} loss {loss.item():.5f}")
print(json.dumps({"val": loss.item()}))
