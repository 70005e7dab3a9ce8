import argparse, json, sys, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
ap = argparse.ArgumentParser(); ap.add_argument("--config", required=True); ap.add_argument("--epochs", type=int, default=3); a = ap.parse_args()
cfg = json.load(open(a.config))
dist.init_process_group("gloo"); r = dist.get_rank()
if r == 0: print("config:", cfg, flush=True)
m = DDP(torch.nn.Sequential(torch.nn.Linear(cfg["dim"], cfg["hidden"]), torch.nn.SiLU(), torch.nn.Linear(cfg["hidden"], cfg["dim"])))
o = getattr(torch.optim, cfg["optimizer"])(m.parameters(), lr=cfg["lr"])
for e in range(a.epochs):
    for _ in range(25):
        x = torch.randn(cfg["batch"], cfg["dim"]); l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0: print(f"[epoch {e+1}/{a.epochs}] loss={l.item():.4f}", flush=True)
if r == 0: torch.save(m.module.state_dict(), cfg["out"]); print("wrote", cfg["out"], flush=True)
dist.destroy_process_group()
