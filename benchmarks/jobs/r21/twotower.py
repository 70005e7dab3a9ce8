import argparse, os, shutil, time
import numpy as np, torch, torch.distributed as dist
from torch import nn
ap = argparse.ArgumentParser(); ap.add_argument("--steps", type=int); a = ap.parse_args()
R = int(os.environ["RANK"]); N = os.environ["TORCHELASTIC_RESTART_COUNT"]
p = lambda *x: print(f"[{time.strftime('%X')}] <twotower r{R} try{N}>", *x, flush=True)
p("hello")
dist.init_process_group("gloo")
if R == 0 and not os.path.exists("cache/index.ok"):
    if os.path.exists("cache/index.building"):
        shutil.rmtree("cache")
        raise RuntimeError("cache/index was left half built by another job; removed it, it is rebuilt at the next start")
    os.makedirs("cache", exist_ok=True)
    np.save("cache/index-000.npy", np.random.default_rng(0).normal(size=(2000, 16)).astype("f4")); open("cache/index.ok", "w").close()
    p("index rebuilt")
dist.barrier()
I = torch.from_numpy(np.load("cache/index-000.npy"))
torch.manual_seed(1); q, d = nn.Linear(16, 8), nn.Linear(16, 8)
m = nn.ModuleList([q, d]); opt = torch.optim.Adam(m.parameters(), 5e-3)
for s in range(a.steps):
    x = I[torch.randint(0, 2000, (64,))]
    l = nn.functional.cross_entropy(q(x + .3 * torch.randn_like(x)) @ d(x).T, torch.arange(64)); opt.zero_grad(); l.backward()
    for w in m.parameters(): dist.all_reduce(w.grad); w.grad /= 2
    opt.step()
    if s % 5 == 0: p(f"step {s} loss {l.item():.4f}")
if R == 0: torch.save(m.state_dict(), "twotower.pt"); p("saved twotower.pt")
dist.barrier(); dist.destroy_process_group(); p("done")
