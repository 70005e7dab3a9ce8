import numpy as np, os, sys
os.makedirs("tok", exist_ok=True)
for i in range(3):
    np.random.default_rng(i).integers(0, 30000, 4_000_000, dtype=np.uint16).tofile(f"tok/part{i}.bin")
