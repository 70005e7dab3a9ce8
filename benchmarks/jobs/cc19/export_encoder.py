import argparse
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="[%(levelname)s|%(filename)s:%(lineno)s] %(asctime)s >> %(message)s")
log = logging.getLogger(__name__)


class Encoder(nn.Module):
    def __init__(self, v=2000, d=64):
        super().__init__()
        self.emb = nn.Embedding(v, d)
        self.l1, self.l2 = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)
        self.norm = nn.LayerNorm(d)

    def forward(self, ids):
        h = self.emb(ids)
        h = self.norm(h + self.l2(nn.functional.gelu(self.l1(h))))
        return nn.functional.normalize(h.mean(1), dim=-1)


def bench(f, ids, n=50):
    f(ids)
    t = time.perf_counter()
    for _ in range(n):
        f(ids)
    return (time.perf_counter() - t) / n * 1e3


ap = argparse.ArgumentParser()
ap.add_argument("--variants")
a = ap.parse_args()
torch.manual_seed(0)
enc = Encoder().eval()
ids = torch.randint(0, 2000, (16, 64))
with torch.inference_mode():
    ref = enc(ids)
    for v in a.variants.split(","):
        log.info("variant %s", v)
        f = enc if v == "eager" else torch.compile(enc, dynamic=False)
        ms = bench(f, ids)
        log.info("%s: %.2f ms per batch, max deviation %.2e", v, ms, (f(ids) - ref).abs().max().item())
        torch.save(enc.state_dict(), f"encoder_{v}.pt")
log.info("all variants exported")
