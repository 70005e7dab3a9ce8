import os, sys, threading, time, traceback
from datetime import timedelta
import torch, torch.nn as nn, torch.distributed as dist

for a, b in (("RANK", "OMPI_COMM_WORLD_RANK"), ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE")):
    os.environ[a] = os.environ[b]
os.environ.setdefault("MASTER_ADDR", "127.0.0.1"); os.environ.setdefault("MASTER_PORT", "48311")


class HangWatch:
    def __init__(self, seconds):
        self.seconds, self.t = seconds, time.time()
        threading.Thread(target=self._run, daemon=True).start()

    def ping(self):
        self.t = time.time()

    def _run(self):
        while time.time() - self.t < self.seconds:
            time.sleep(0.3)
        f = sys._current_frames()[threading.main_thread().ident]
        print(f"HangWatch: main thread did not ping for {self.seconds}s. It is here:", flush=True)
        print("".join(traceback.format_stack(f)), flush=True)


dist.init_process_group("gloo", timeout=timedelta(seconds=18))
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(1)
G, D = nn.Linear(8, 16), nn.Linear(16, 1)
hw = HangWatch(9)


def sync(m):
    for p in m.parameters():
        dist.all_reduce(p.grad)
        p.data -= 0.01 * p.grad / world
        p.grad = None


def sample(epoch):
    """fixed samples for the report"""
    with torch.no_grad():
        x = G(torch.ones(4, 8))
    torch.save(x, f"samples_{epoch}.pt")
    print(f"epoch {epoch}: samples written, mean {x.mean().item():.3f}")


def should_stop(path="metrics.txt"):
    # wait until the evaluator has scored the samples
    while not os.path.exists(path):
        time.sleep(0.2)
    return float(open(path).read()) < 0.1


for epoch in range(5):
    for it in range(40):
        hw.ping()
        d = nn.functional.softplus(D(G(torch.randn(16, 8)).detach())).mean() + nn.functional.softplus(-D(torch.randn(16, 16))).mean()
        d.backward(); sync(D)
        g = nn.functional.softplus(-D(G(torch.randn(16, 8)))).mean()
        g.backward(); sync(G); D.zero_grad()
        if rank == 0 and it % 10 == 0:
            print(f"epoch {epoch} it {it} d {d.item():.3f} g {g.item():.3f}", flush=True)
    if rank == world - 1 and epoch == 2:
        print("asking the evaluator for a score of epoch 2", flush=True)
        if should_stop():
            break
    if rank == 0:
        sample(epoch)
print("bye")
