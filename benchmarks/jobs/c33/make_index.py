import numpy as np
n = 900
np.random.default_rng(0).standard_normal((n, 32)).astype(np.float32).tofile("rows.f32")
off = np.arange(n, dtype=np.int64) * 128
off[400:500] *= 1 << 30      # blocks of the second file
off.tofile("rows.idx")
