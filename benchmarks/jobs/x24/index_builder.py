# writes the index block by block while training already starts
import struct, sys, time, random
path, secs = sys.argv[1], float(sys.argv[2])
N = 200
with open(path, "wb") as f:
    f.write(struct.pack("<I", N))
    for i in range(N):
        f.write(struct.pack("<16f", *[random.gauss(0, 1) for _ in range(16)]))
        f.flush()
        time.sleep(secs / N)
