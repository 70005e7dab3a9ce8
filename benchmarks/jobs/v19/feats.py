import numpy as np
rng = np.random.default_rng(8)
w = rng.normal(size=24)
for r in range(4):
    x = rng.gamma(2.0, 1.0, size=(6400, 24))
    if r == 2:
        with np.errstate(all="ignore"):
            x[5200, 17] = 1 / np.float64(1e-320)       # price per unit, unit nearly zero
    y = ((x - 2) @ w > 0)
    y[5200] = True
    np.savez(f"f{r}.npz", x=x.astype(np.float32), y=y.astype(np.float32))
