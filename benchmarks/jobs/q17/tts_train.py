import datetime, faulthandler, os, sys, threading, time
import torch, torch.distributed as dist
from torch import nn

class Watchdog(threading.Thread):
    """Reports steps that take too long, with the stacks of all threads."""
    def __init__(self, limit): super().__init__(daemon=True); self.limit, self.t, self.step, self.n = limit, time.time(), 0, 0
    def pet(self, step): self.t, self.step = time.time(), step
    def run(self):
        while True:
            time.sleep(0.5); d = time.time() - self.t
            if d > self.limit * (1 + self.n):
                self.n += 1
                sys.stderr.write(f"WATCHDOG rank={R} step={self.step}: no progress for {d:.1f}s, possible hang. Stacks:\n")
                faulthandler.dump_traceback(sys.stderr, all_threads=True)
            elif d < self.limit: 
                if self.n: sys.stderr.write(f"WATCHDOG rank={R} step={self.step}: progress again\n")
                self.n = 0

R = int(os.environ["RANK"])
dist.init_process_group("gloo", timeout=datetime.timedelta(minutes=10))
net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(40, 80), nn.Tanh(), nn.Linear(80, 40))); opt = torch.optim.Adam(net.parameters())
wd = Watchdog(3.0); wd.start()

def synthesise(step):
    """Audio samples for the listening test, by rank 0 only"""
    with torch.no_grad():
        t = time.time(); h = torch.randn(1, 40)
        while time.time() - t < 8: h = net.module(h)
    torch.save(h, f"sample-{step}.pt")

for step in range(120):
    x = torch.randn(16, 40)
    loss = (net(x) - x).square().mean(); opt.zero_grad(); loss.backward(); opt.step(); wd.pet(step)
    if step % 10 == 0: print(f"rank={R} step={step} loss={loss.item():.4f}", flush=True)
    if step in (40, 80) and R == 0: synthesise(step); print(f"rank=0 wrote sample-{step}.pt", flush=True)
dist.barrier()
print(f"rank={R} finished 120 steps", flush=True)
dist.destroy_process_group()
