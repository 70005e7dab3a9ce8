import json, sys
import torch
from torch import nn
cfg = json.loads(sys.argv[1])
torch.manual_seed(0)
x = torch.randn(512, 16); y = torch.sin(x.sum(1, keepdim=True))
att = nn.MultiheadAttention(cfg["hidden"], cfg["heads"], batch_first=True)
inp, out = nn.Linear(1, cfg["hidden"]), nn.Linear(cfg["hidden"], 1)
act = {"relu": torch.relu, "tanh": torch.tanh, "gelu": nn.functional.gelu}[cfg["act"]]
ps = [*att.parameters(), *inp.parameters(), *out.parameters()]
opt = torch.optim.SGD(ps, cfg["lr"])
for step in range(30):
    b = torch.randint(0, 448, (32,))
    h = inp(x[b].unsqueeze(-1)); h = act(att(h, h, h, need_weights=False)[0]).mean(1)
    loss = (out(h) - y[b]).pow(2).mean()
    if not torch.isfinite(loss):
        raise FloatingPointError(f"loss is {loss.item()} at step {step}")
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    h = inp(x[448:].unsqueeze(-1)); h = act(att(h, h, h, need_weights=False)[0]).mean(1)
    print(json.dumps({"val_mse": (out(h) - y[448:]).pow(2).mean().item()}))
