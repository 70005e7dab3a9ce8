import os, time, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
w, s0 = torch.load("modell.pt") if os.path.exists("modell.pt") else (torch.zeros(6), 0)
for s in range(s0, 15):
    x = torch.randn(32, 6); g = x.t() @ (x @ w - x.sum(1)) / 32
    dist.all_reduce(g); w = w - .2 * g; time.sleep(.5)
    print(f"Rang {r} Schritt {s} Verlust {(w - 1).pow(2).sum():.4f}")
    if r == 0: torch.save((w, s + 1), "tmp.pt"); os.replace("tmp.pt", "modell.pt")
dist.barrier(); dist.destroy_process_group()
