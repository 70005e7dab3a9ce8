import glob, numpy as np

class ShardedStore:
    def __init__(self, folder):
        self.files = [open(p, "rb") for p in sorted(glob.glob(folder + "/*.rec"))]

    def read(self, i):
        f = self.files[i % len(self.files)]
        f.seek((i // len(self.files)) * 256)
        return np.frombuffer(f.read(256), dtype=np.float32)
