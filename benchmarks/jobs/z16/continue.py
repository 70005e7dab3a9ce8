import argparse, time, sys, os
import torch
import torch.distributed as dist

ap = argparse.ArgumentParser()
ap.add_argument("--local_rank", type=int, default=0)
ap.add_argument("--load", required=True)
ap.add_argument("--steps", type=int, default=50)
a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
pr = lambda *m: print(f"{time.strftime('%d.%m. %H:%M:%S')} P{r}:", *m, flush=True)
pr(f"Lade Zustand aus {a.load}")
path = f"{a.load}/rank{r}.pt"
pr(f"{path}: {os.path.getsize(path)} Bytes")
st = torch.load(path)
pr(f"Zustand geladen, weiter ab Schritt {st['step']}")
w, m, v = st["w"], st["exp_avg"], st["exp_avg_sq"]
dist.barrier()
for s in range(st["step"] + 1, st["step"] + 1 + a.steps):
    g = torch.randn_like(w) * 0.1
    dist.all_reduce(g)
    w -= 1e-3 * g
    if s % 10 == 0:
        pr(f"Schritt {s} |w| {w.norm():.3f}")
pr("fertig")
