import struct
import sys
import urllib.request

if sys.argv[1] == "--local":
    import numpy as np
    x = np.random.default_rng(int(sys.argv[2])).standard_normal((4000, 16)).astype("<f4")
    open("data.bin", "wb").write(struct.pack("<II", *x.shape) + x.tobytes())
    print("fetch: data.bin built from the local generator")
else:
    print("fetch:", sys.argv[1], flush=True)
    open("data.part", "wb").write(urllib.request.urlopen(sys.argv[1], timeout=5).read())
