import queue, threading
import numpy as np, torch
class Feeder:
    def __init__(self, rank, n_shards, bs=16):
        self.q = queue.Queue(8)
        self.rank, self.n, self.bs = rank, n_shards, bs
        threading.Thread(target=self._fill, name=f"feeder-{rank}", daemon=True).start()
    def _fill(self):
        while True:
            for s in range(self.n):
                a = np.load(f"shards/r{self.rank}_{s:03d}.npy")
                for i in range(0, len(a), self.bs):
                    self.q.put(torch.from_numpy(a[i:i + self.bs]))
    def __iter__(self):
        while True:
            yield self.q.get()
