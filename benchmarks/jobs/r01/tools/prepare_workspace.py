import argparse, os, sys
sys.path.insert(0, ".")
import torch
from torch import nn
from model import Ranker, batch

ap = argparse.ArgumentParser()
ap.add_argument("--out"); ap.add_argument("--steps", type=int)
a = ap.parse_args()
os.makedirs(f"{a.out}/ckpt", exist_ok=True)
torch.manual_seed(0)
m = Ranker(); opt = torch.optim.AdamW(m.parameters(), 1e-3)
for s in range(1, a.steps + 1):
    x, y = batch(s)
    l = nn.functional.binary_cross_entropy_with_logits(m(x), y)
    opt.zero_grad(); l.backward(); opt.step()
    if s % 10 == 0:
        print(f"   day job  step {s:4d}  bce {l.item():.4f}")
    if s % 20 == 0:
        torch.save({"model": m.state_dict(), "opt": opt.state_dict(), "step": s}, f"{a.out}/ckpt/ranker-{s:06d}.pt")
