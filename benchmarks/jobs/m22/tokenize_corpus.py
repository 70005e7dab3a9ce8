import numpy as np, sys
for i in map(int, sys.argv[2:]):
    n = int(sys.argv[1])
    np.random.default_rng(i).integers(0, 1024, n).astype(np.uint16).tofile(f"bin/tokens_{i}.bin")
