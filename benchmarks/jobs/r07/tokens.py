import numpy as np
r = np.random.default_rng(5)
a = r.integers(0, 128, size=60_000, dtype="u2"); a[1::2] = (a[::2] * 3 + 1) % 128
np.save("tokens.npy", a)
for i in range(0, len(a), 2000):
    print(f"  slice {i:6d}  distinct {len(np.unique(a[i:i+2000])):4d}  mean {a[i:i+2000].mean():.2f}")
print("tokens.npy", a.shape)
