import datetime, queue, threading, time, os, numpy as np, torch, torch.distributed as dist
from torch import nn
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20)); r, w = dist.get_rank(), dist.get_world_size()
q = queue.Queue(4)
def reader():
    for part in range(r, 16, w):
        arr = np.load(f"tokens/part-{part:05d}.npy")
        for c in arr.reshape(-1, 8, 16): q.put(torch.from_numpy(c))
threading.Thread(target=reader, name="reader", daemon=True).start()
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(64, 16), nn.Linear(16, 64))); o = torch.optim.AdamW(net.parameters(), 1e-3); t0 = time.time()
for s in range(40):
    b = q.get(); l = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten()); o.zero_grad(); l.backward(); o.step(); time.sleep(.05)
    if s % 5 == 0: print(f"[{time.time()-t0:6.1f}s] rank {r} step {s} loss {l.item():.3f} queue {q.qsize()}", flush=True)
print("rank", r, "done"); dist.destroy_process_group()
