import numpy as np, sys, os
os.makedirs("corpus", exist_ok=True)
for k in range(3):
    np.random.default_rng(k).integers(0, 255, 4_000_000, dtype=np.uint16).tofile(f"corpus/part{k}.bin")
