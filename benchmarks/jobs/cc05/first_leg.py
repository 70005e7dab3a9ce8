# Writes the state of the first leg: one optimizer shard per rank. The copy from scratch to the
# project file system is done in chunks, like the stage-out of the batch system does it.
import os, torch
d = "runs/gpt-mini/step_000800"
os.makedirs(d, exist_ok=True)
torch.manual_seed(0)
torch.save({"step": 800, "model": {"w1": torch.randn(256, 256), "w2": torch.randn(256, 64)}}, f"{d}/model.pt")
for r in range(4):
    torch.save({"rank": r, "exp_avg": torch.zeros(256 * 256 // 4 + 256 * 64 // 4), "exp_avg_sq": torch.zeros(256 * 256 // 4 + 256 * 64 // 4)}, f"scratch_{r}.pt")
    blob = open(f"scratch_{r}.pt", "rb").read()
    chunks = [blob[i:i + 65536] for i in range(0, len(blob), 65536)]
    with open(f"{d}/optim_rank{r}.pt", "wb") as f:
        for c in (chunks[:2] if r == 2 else chunks):   # the allocation ended during this file
            f.write(c)
    os.remove(f"scratch_{r}.pt")
