import queue, threading, torch
class Prefetcher:
    def __init__(self, utts, depth=2):
        self.q = queue.Queue(depth); threading.Thread(target=self._fill, args=(utts,), daemon=True, name="prefetch").start()
    def _fill(self, utts):
        for u in utts: self.q.put(self.collate(u))
    def collate(self, u):
        feats = torch.randn(u["frames"], 8); return feats.view(-1, 4, 8).mean(1)
    def next(self): return self.q.get()
