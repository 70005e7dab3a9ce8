unset PYTHONUNBUFFERED
python - <<'P'
import numpy as np, os
os.makedirs("shards", exist_ok=True)
counts = {0: 5, 1: 3, 2: 5}
for r, n in counts.items():
    for s in range(n):
        np.save(f"shards/r{r}_{s:03d}.npy", np.random.randn(96, 32).astype("float32"))
P
torchrun --nproc-per-node 3 --master-port 4313 train.py
