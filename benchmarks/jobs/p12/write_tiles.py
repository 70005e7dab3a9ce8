import os, numpy as np
os.makedirs("tiles", exist_ok=True)
rng = np.random.default_rng(0)
for i in range(700):
    with open(f"tiles/{i:04d}.bin", "wb") as f:
        f.write(b"TILE" if i % 37 else b"JUNK"); f.write(rng.bytes(256 if i % 53 else 90))
