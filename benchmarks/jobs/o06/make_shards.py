import os, sys, numpy as np
os.makedirs("shards", exist_ok=True)
for i in range(int(sys.argv[1])):
    np.random.default_rng(i).integers(0, 200, 512, dtype=np.uint16).tofile(f"shards/tok_{i:05d}.bin")
print("wrote", sys.argv[1], "shards")
