import os, queue, threading, torch, torch.distributed as dist
from datetime import timedelta
class Prefetcher:
    def __init__(self, paths):
        self.q = queue.Queue(2); self.paths = paths
        threading.Thread(target=self._fill, name="prefetch", daemon=True).start()
    def _fill(self):
        for p in self.paths:
            cols = open(p).read().split()
            self.q.put(torch.tensor([[float(c) for c in row.split(",")] for row in cols]))
    def next(self): return self.q.get()
dist.init_process_group("gloo", timeout=timedelta(seconds=20))
r, w = dist.get_rank(), dist.get_world_size()
pf = Prefetcher([f"csv/{r}_{i}.csv" for i in range(20)])
lin = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1)); opt = torch.optim.SGD(lin.parameters(), .01)
for i in range(20):
    x = pf.next(); l = lin(x).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    print(f"it={i} loss={l.item():.4f} rows={len(x)}", flush=True)
