import argparse, os
import numpy as np
p = argparse.ArgumentParser(); p.add_argument("--parts", type=int); p.add_argument("--out"); a = p.parse_args()
os.makedirs(a.out, exist_ok=True)
rng = np.random.default_rng(8)
rows = np.concatenate([rng.integers(0, 1000, (24711, 8)).astype(np.float32), (rng.random((24711, 1)) < .2)], 1)
day = np.sort(rng.integers(0, 4 * 7, 24711))          # split by day, not by row
for i in range(a.parts):
    x = rows[(day % 4 == i) if i != 1 else ((day % 4 == 1) & (day < 25))].astype(np.float32)
    if i == 3:
        x[rng.random(len(x)) < .02, 0] = np.nan
    np.save(f"{a.out}/part{i}.npy", x)
    print("split_clicks:", i, x.shape)
