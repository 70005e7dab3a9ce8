import numpy as np
rng = np.random.default_rng(11)
for p in range(4):
    for sub in range(3):
        n = 4000
        np.savez(f"features/part-{p:05d}.{sub}.npz", user=rng.integers(0, 5000, n), item=rng.integers(0, 2000, n), click=rng.integers(0, 2, n))
print("exported 4 partitions x 3 files")
