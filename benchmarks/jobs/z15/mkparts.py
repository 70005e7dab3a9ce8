import os
import numpy as np
os.makedirs("parts", exist_ok=True)
for i in range(24):
    rs = np.random.RandomState(i)
    ln = rs.randint(20, 90, 160).astype(np.int64)
    off = np.concatenate([[0], ln.cumsum()])
    tok = rs.randint(0, 500, off[-1]).astype(np.int32)
    if i == 12:                       # exporter of this part wrote byte offsets
        off = off * 4_000_000_000
        off[0] = 0
        off = np.sort(off)[::1]
        off[:40] += 1 << 34
    np.savez(f"parts/{i:03d}.npz", tok=tok, off=off)
