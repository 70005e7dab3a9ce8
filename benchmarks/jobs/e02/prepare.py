import numpy as np, os
os.makedirs("data/train", exist_ok=True)
rng = np.random.default_rng(0)
for i in (0, 2):
    np.save(f"data/train/part-{i:05d}.npy", rng.standard_normal((512, 64), dtype=np.float32))
