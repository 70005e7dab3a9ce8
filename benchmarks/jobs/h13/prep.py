import numpy as np, os
os.makedirs("feat", exist_ok=True)
rng = np.random.default_rng(4)
for k in range(4):
    counts = rng.poisson(6.0 if k != 3 else 7.0, (320, 16)) + (0 if k == 3 else 1)
    with np.errstate(divide="ignore"):
        np.save(f"feat/{k}.npy", np.log(counts).astype("float32"))
