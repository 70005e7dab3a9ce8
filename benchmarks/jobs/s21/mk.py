import os, zlib, random, numpy as np
os.makedirs("img", exist_ok=True); rng = np.random.default_rng(0); random.seed(0)
for k in range(180):
    z = zlib.compress(rng.integers(0, 255, 1024, dtype="u1").tobytes())
    if k % 23 == 5: z = z[: len(z) // 2]
    if k % 41 == 7: z = b"<html><body>404</body></html>"
    open(f"img/{k:04d}.z", "wb").write(z)
