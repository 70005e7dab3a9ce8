import numpy as np
rng = np.random.default_rng(2)
w = rng.normal(size=20)
for i, reg in enumerate(("emea", "apac", "latam")):
    x = rng.normal(size=(900, 20)).astype("f4")
    p = 1 / (1 + np.exp(-(x @ w)))
    y = (rng.random(900) < p).astype("f4")
    if reg == "apac":
        y[600:] = 1 - y[600:]
    np.savez(f"{reg}.npz", x=x, y=y)
