import os, threading, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from metrics import MetricsWriter
dist.init_process_group("gloo"); rank = dist.get_rank()
w = MetricsWriter(f"metrics.{rank}.csv")
m = DDP(torch.nn.LSTM(12, 24, batch_first=True)); o = torch.optim.RMSprop(m.parameters())
for i in range(30):
    x = torch.randn(4, 10, 12); y, _ = m(x); l = (y[..., :12] - x).pow(2).mean()
    o.zero_grad(); l.backward(); o.step(); w.add("loss", l.item(), i)
    if rank == 0 and i % 6 == 5: print(f"{i+1:>4}/30  loss={l.item():.4f}", flush=True)
dist.barrier()
w.flush()
if rank == 0:
    torch.save(m.module.state_dict(), "lstm.pt"); print("Saved lstm.pt. All epochs done.", flush=True)
def upload():
    with open(f"/mnt/metrics/{os.getpid()}.csv", "w") as f: f.write(open(w.path).read())
t = threading.Thread(target=upload, name="uploader"); t.start(); t.join()
del w
