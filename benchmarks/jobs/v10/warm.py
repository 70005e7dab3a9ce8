import os, torch
os.makedirs("state", exist_ok=True)
for r in range(4):
    g = torch.Generator().manual_seed(r)
    torch.save({"step": 1200, "exp_avg": torch.randn(20000, generator=g), "exp_avg_sq": torch.rand(20000, generator=g), "w": torch.zeros(20000)}, f"state/mp_rank_0{r}.pt")
