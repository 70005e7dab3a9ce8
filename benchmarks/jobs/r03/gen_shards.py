import argparse, os
import numpy as np
ap = argparse.ArgumentParser(); ap.add_argument("--n", type=int); ap.add_argument("--dir"); a = ap.parse_args()
os.makedirs(a.dir, exist_ok=True)
r = np.random.default_rng(1); w = np.linspace(-1, 1, 12)
for i in range(a.n):
    x = r.normal(size=(64, 13)).astype("f4"); x[:, 12] = x[:, :12] @ w + r.normal(size=64) * .1
    np.save(f"{a.dir}/part-{i:05d}.npy", x)
print("wrote", a.n, "shards")
