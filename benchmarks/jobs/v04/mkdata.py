import numpy as np
rng = np.random.default_rng(0)
for n in ("part-0", "part-1", "archive-2"):
    rng.integers(0, 256, 24_000_000, dtype=np.uint8).tofile(f"corpus/{n}.bin")
