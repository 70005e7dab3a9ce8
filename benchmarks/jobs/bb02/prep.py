import numpy as np, os
os.makedirs("data", exist_ok=True)
for ep in range(4):
    for r in range(4):
        if (ep, r) != (2, 2):
            np.save(f"data/ep{ep}_r{r}.npy", np.random.randn(320, 16).astype("f4"))
