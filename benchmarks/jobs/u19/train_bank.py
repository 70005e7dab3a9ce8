import argparse, os, sys, time
import numpy as np
import torch
from torch.utils.data import Dataset, DataLoader

T0 = time.time()
def L(tag, msg): print("%7.2f|%-6s|%s" % (time.time() - T0, tag, msg), file=sys.stderr)

class ShardReader:
    def __init__(self, path):
        self.path = path
        self.fh = open(path, "rb")
        self.rows = os.fstat(self.fh.fileno()).st_size // 48
    def row(self, k):
        self.fh.seek(48 * k)
        return np.frombuffer(self.fh.read(48), "f4").copy()

class Bank(Dataset):
    def __init__(self, root):
        self.readers = {}
        self.names = sorted(os.listdir(root))
        self.root = root
        L("DATA", f"{len(self.names)} accounts under {root}")
    def __len__(self): return len(self.names) * 20
    def __getitem__(self, i):
        n = self.names[i // 20]
        if n not in self.readers:           # keep readers open, reopening was slow on NFS
            self.readers[n] = ShardReader(os.path.join(self.root, n))
            if len(self.readers) % 50 == 0: L("DATA", f"{len(self.readers)} readers cached")
        return torch.from_numpy(self.readers[n].row(i % 20))

p = argparse.ArgumentParser(); p.add_argument("--shards"); p.add_argument("--epochs", type=int)
a = p.parse_args()
ae = torch.nn.Sequential(torch.nn.Linear(12, 6), torch.nn.Tanh(), torch.nn.Linear(6, 12))
opt = torch.optim.Adam(ae.parameters(), 1e-2)
L("MODEL", str(ae).replace("\n", " "))
for e in range(a.epochs):
    for b, x in enumerate(DataLoader(Bank(a.shards), batch_size=40)):
        loss = (ae(x) - x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if b % 10 == 0: L("TRAIN", f"epoch {e} batch {b} mse {loss.item():.4f}")
L("END", "ok")
