# 画像の先読み
import queue, threading
import numpy as np, torch

class Prefetcher:
    def __init__(self, path, batch):
        self.img, self.batch, self.q = np.load(path), batch, queue.Queue(maxsize=4)
        threading.Thread(target=self.work, name="prefetch", daemon=True).start()
    def work(self):
        i = 0
        while True:
            xs = [stretch(self.img[(i + j) % len(self.img)]) for j in range(self.batch)]
            self.q.put(torch.stack(xs)); i += self.batch
    def __next__(self): return self.q.get()

def stretch(im):
    lo, hi = int(im.min()), int(im.max())
    return torch.tensor([[(int(v) - lo) * 255 // (hi - lo) / 255 for v in row] for row in im]).float()
