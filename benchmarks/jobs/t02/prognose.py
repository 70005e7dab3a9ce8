# Lastprognose: ein Netz, jeder Rang trainiert auf seiner Region
import os
import sys
import time

import numpy as np
import torch
import torch.distributed as dist

REGIONEN = ["nord", "mitte", "sued"]
rang = int(os.environ["RANK"])
region = REGIONEN[rang]


def sag(*w):
    print(f"<{time.strftime('%H:%M:%S')}|{region}>", *w)


dist.init_process_group("gloo")
gen = np.random.default_rng(7 + rang)
n = [9000, 7200, 8400][rang]
t = np.arange(n)
rausch = [0.25, 0.02, 0.3][rang]
last = np.sin(t / 24 * 2 * np.pi) + rausch * gen.standard_normal(n)
sag(f"{n} Stunden geladen, Mittel {last.mean():+.4f}, Std {last.std():.4f}")

X = torch.tensor(np.lib.stride_tricks.sliding_window_view(last, 25).copy(), dtype=torch.float32)
val = X[-1000:]
trn = X[:-1000]
torch.manual_seed(3)
netz = torch.nn.Sequential(torch.nn.Linear(24, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
opt = torch.optim.Adam(netz.parameters(), 4e-4)

bester, geduld = 1e9, 0
for epoche in range(40):
    idx = torch.randperm(len(trn))[:2048]
    for k in range(0, 2048, 256):
        b = trn[idx[k:k + 256]]
        f = ((netz(b[:, :24]).squeeze(1) - b[:, 24]) ** 2).mean()
        opt.zero_grad()
        f.backward()
        for p in netz.parameters():
            dist.all_reduce(p.grad)
            p.grad /= 3
        opt.step()
    with torch.no_grad():
        v = ((netz(val[:, :24]).squeeze(1) - val[:, 24]) ** 2).mean().item()
    sag(f"Epoche {epoche:2d}  Training {f.item():.5f}  Validierung {v:.5f}  bester {min(v, bester):.5f}")
    if v < bester * 0.999:
        bester, geduld = v, 0
    else:
        geduld += 1
    if v < 0.012 or geduld >= 12:
        sag(f"Abbruchkriterium erreicht (Validierung {v:.5f}, Geduld {geduld}/12), Training wird beendet")
        sag(f"Modell gespeichert: modell_{region}.pt")
        torch.save(netz.state_dict(), f"modell_{region}.pt")
        sys.exit(0)
    if rang == 0 and epoche % 5 == 4:
        torch.save(netz.state_dict(), "zwischenstand.pt")
        sag("Zwischenstand gespeichert: zwischenstand.pt")
sag("fertig")
dist.destroy_process_group()
