import os, numpy as np
rng = np.random.default_rng(2)
for n in (0, 1):
    d = f"node{n}/data"; os.makedirs(d, exist_ok=True)
    for s in range(8):
        if (n, s) in ((0, 5), (1, 2)): continue
        np.save(f"{d}/train_{s}.npy", rng.integers(0, 50, 4000).astype("u2"))
    if n == 0: np.save(f"{d}/valid.npy", rng.integers(0, 50, 2000).astype("u2"))
