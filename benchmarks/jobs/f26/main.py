import argparse, os, torch, torch.distributed as dist, torch.distributed.checkpoint as dcp
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--hidden", type=int, default=64)
ap.add_argument("--steps", type=int, default=6)
ap.add_argument("--load"); ap.add_argument("--save")
a = ap.parse_args()
dist.init_process_group("gloo"); rk = dist.get_rank()
def log(*x):
    if rk == 0: print("[main]", *x, flush=True)
net = nn.ModuleDict({"emb": nn.Embedding(100, a.hidden), "ff": nn.Linear(a.hidden, a.hidden), "out": nn.Linear(a.hidden, 100)})
if a.load:
    sd = net.state_dict(); log("loading", a.load)
    dcp.load(sd, checkpoint_id=a.load); net.load_state_dict(sd); log("loaded")
opt = torch.optim.SGD(net.parameters(), 0.1)
for s in range(a.steps):
    ids = torch.randint(0, 100, (8, 16)); y = net["out"](net["ff"](net["emb"](ids)).relu())
    l = nn.functional.cross_entropy(y.flatten(0, 1), ids.flatten()); opt.zero_grad(); l.backward(); opt.step(); log(f"step {s} loss {l.item():.3f}")
if a.save:
    dcp.save(net.state_dict(), checkpoint_id=a.save); log("saved", a.save)
dist.destroy_process_group()
