import json, os, sys, datetime
import torch, torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=30))
R = dist.get_rank()
docs = json.load(open(f"docs.{R}.json"))


class Attn(nn.Module):
    def __init__(self, d=32):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d, d) for _ in range(3))

    def forward(self, x):
        s = self.q(x) @ self.k(x).transpose(0, 1) / 5.7
        return s.softmax(-1) @ self.v(x)


torch.manual_seed(0)
m = nn.parallel.DistributedDataParallel(Attn())
o = torch.optim.Adam(m.parameters(), 1e-3)
for i, d in enumerate(docs):
    x = torch.randn(d["tokens"], 32)
    loss = (m(x) - x).pow(2).mean()
    o.zero_grad(); loss.backward(); o.step()
    if i % 4 == 0:
        print(f"(worker {R}) {i}/{len(docs)} {d['doc']} loss={loss.item():.3f}", file=sys.stderr)
dist.destroy_process_group()
