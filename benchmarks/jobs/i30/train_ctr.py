import csv, queue, threading, time, torch, torch.nn as nn, torch.distributed as dist
from datetime import timedelta
dist.init_process_group("gloo", timeout=timedelta(seconds=15)); rank = dist.get_rank()
q = queue.Queue(maxsize=25)
def prefetch(path):
    while True:
        rows = []
        for row in csv.reader(open(path)):
            rows.append(([float(v) for v in row[1:6]], float(row[6])))
            if len(rows) == 8: q.put((torch.tensor([x for x, _ in rows]), torch.tensor([y for _, y in rows]))); rows = []
threading.Thread(target=prefetch, args=(f"clicks_{rank}.csv",), daemon=True, name="prefetch").start()
m = nn.parallel.DistributedDataParallel(nn.Linear(5, 1)); o = torch.optim.Adagrad(m.parameters(), .05)
for step in range(200):
    t = time.time(); x, y = q.get(); w = time.time() - t
    l = nn.functional.binary_cross_entropy_with_logits(m(x).squeeze(1), y); o.zero_grad(); l.backward(); o.step(); time.sleep(.2)
    print(f"rank {rank} step {step} bce {l.item():.4f} (data {w*1e3:.1f} ms, queue {q.qsize()})", flush=True)
dist.destroy_process_group()
