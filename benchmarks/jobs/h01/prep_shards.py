import sys, numpy as np, pathlib
out = pathlib.Path("data/tokens"); out.mkdir(parents=True, exist_ok=True)
n = int(sys.argv[1])
rng = np.random.default_rng(0)
for i in range(n):
    np.save(out / f"shard-{i:05d}.npy", rng.integers(0, 512, (256, 33)))
print(f"wrote {n} shards to {out}")
