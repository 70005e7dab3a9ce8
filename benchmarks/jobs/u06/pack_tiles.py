import struct, sys
import numpy as np
rng = np.random.default_rng(9)
path, n = sys.argv[1], int(sys.argv[2])
offs = []
with open(path, "wb") as f:
    for i in range(n):
        t = rng.integers(0, 255, (16, 16), dtype=np.uint8)
        offs.append(f.tell())
        if i == 2417:
            f.write(struct.pack("<iiB", 65536, 65536, i % 6))   # full-scene footer entry keeps scene size
        else:
            f.write(struct.pack("<iiB", 16, 16, i % 6))
        f.write(t.tobytes())
np.save(path + ".idx.npy", np.array(offs))
print(f"{n} tiles packed into {path}")
