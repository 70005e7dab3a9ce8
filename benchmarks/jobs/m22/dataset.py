import numpy as np, torch
class TokenFile:
    def __init__(self, path, block):
        self.mm = np.memmap(path, dtype=np.uint16, mode="r")
        self.block = block
        self.n = len(self.mm) // block
    def batch(self, i, bs):
        rows = [(i * bs + k) * 997 % self.n for k in range(bs)]
        return torch.stack([torch.from_numpy(self.mm[r * self.block:(r + 1) * self.block].astype("i8")) for r in rows])
