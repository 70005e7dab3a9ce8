# -*- coding: utf-8 -*-
"""Kleines Sprachmodell, Gradienten werden von Hand gemittelt."""
import json, os, sys
from datetime import timedelta
import torch
import torch.distributed as dist
from torch import nn

cfg = json.load(open(sys.argv[1]))
rank, welt = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


class Modell(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.emb = nn.Embedding(c["vocab_size"], c["d_model"])
        self.rnn = nn.GRU(c["d_model"], c["d_model"], c["n_layer"], batch_first=True)
        self.aus = nn.Linear(c["d_model"], c["vocab_size"])

    def forward(self, x):
        return self.aus(self.rnn(self.emb(x))[0])


torch.manual_seed(3)
m = Modell(cfg)
n = sum(p.numel() for p in m.parameters())
print(f"rang {rank}/{welt} konfiguration {sys.argv[1]} vokabular {cfg['vocab_size']} parameter {n}", flush=True)
dist.init_process_group("gloo", timeout=timedelta(seconds=15))
print(f"rang {rank} verbunden", flush=True)
opt = torch.optim.Adam(m.parameters(), lr=cfg["lr"])
for s in range(cfg["steps"]):
    x = torch.randint(0, 2000, (cfg["batch"], cfg["seq"]))
    loss = nn.functional.cross_entropy(m(x)[:, :-1].flatten(0, 1), x[:, 1:].flatten())
    opt.zero_grad()
    loss.backward()
    g = torch.cat([p.grad.flatten() for p in m.parameters()])
    dist.all_reduce(g)
    o = 0
    for p in m.parameters():
        p.grad.copy_(g[o:o + p.numel()].view_as(p) / welt)
        o += p.numel()
    opt.step()
    if s % 20 == 0:
        print(f"schritt {s} verlust {loss.item():.3f}", flush=True)
if rank == 0:
    os.makedirs("out", exist_ok=True)
    torch.save(m.state_dict(), "out/model.pt")
