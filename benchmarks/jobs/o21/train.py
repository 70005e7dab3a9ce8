import json, sys, torch, torch.nn as nn
from engine.loop import Loop
cfg = {}
for f in sys.argv[1:]: cfg.update(json.load(open(f)))
print("config:", json.dumps(cfg))
torch.manual_seed(0)
class Reg(nn.Module):
    def __init__(self):
        super().__init__(); w = cfg["width"]
        self.net = nn.Sequential(nn.Linear(16, w), *[m for _ in range(cfg["depth"]) for m in (nn.Linear(w, w), nn.ReLU())], nn.Linear(w, 1))
    def loss(self, x, y): return (self.net(x) - y).pow(2).mean()
def stream():
    while True:
        x = torch.randn(32, 16); yield x, x.sum(1, keepdim=True)
model = Reg(); opt = torch.optim.SGD(model.parameters(), lr=cfg["lr"], momentum=cfg["momentum"])
Loop(model, opt, stream(), [lambda s, v, t: print(f"[{t:6.2f}s] step {s} loss {v:.4g}")]).run(cfg["steps"])
