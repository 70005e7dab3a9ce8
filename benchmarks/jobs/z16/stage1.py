# writes the state of the first stage (two shards), as the trainer does
import os, sys, torch
os.makedirs("stage1/step400", exist_ok=True)
for r in range(2):
    torch.manual_seed(r)
    torch.save({"step": 400, "w": torch.randn(256, 128), "exp_avg": torch.randn(300_000), "exp_avg_sq": torch.rand(300_000)}, f"stage1/step400/rank{r}.pt")
