python - <<'P'
import numpy as np, os
for r, n in ((0, 120), (1, 700)):
    os.makedirs(f"bins/{r}", exist_ok=True)
    for i in range(n):
        np.random.default_rng(i).integers(0, 31, 128).astype(np.uint16).tofile(f"bins/{r}/{i:05d}.bin")
P
ulimit -n 512
mpirun --allow-run-as-root --oversubscribe -n 2 python warm.py
