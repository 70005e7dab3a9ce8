import faulthandler, os, signal, threading, time
import torch, torch.distributed as dist
from torch import nn

faulthandler.register(signal.SIGUSR1, all_threads=True)


class Metrics:
    """Accumulates values; a background thread writes them out."""

    def __init__(self):
        self.lock = threading.Lock()
        self.values = {}

    def add(self, key, v, store):
        with self.lock:
            self.values[key] = v
            if len(self.values) % 25 == 0:
                time.sleep(0.002)
                store.put(key, v)


class Store:
    def __init__(self, path):
        self.lock = threading.Lock()
        self.path = path

    def put(self, key, v):
        with self.lock:
            with open(self.path, "a") as f:
                f.write(f"{key} {v}\n")

    def compact(self, metrics):
        with self.lock:
            time.sleep(0.01)  # rewrite file
            with metrics.lock:
                metrics.values = dict(list(metrics.values.items())[-100:])


def flusher(store, metrics, every):
    while True:
        time.sleep(every)
        store.compact(metrics)


def main():
    dist.init_process_group("gloo")
    r = dist.get_rank()
    torch.manual_seed(r)
    print("start rank", r, "pid", os.getpid(), flush=True)
    net = nn.parallel.DistributedDataParallel(nn.Linear(64, 64))
    opt = torch.optim.Adam(net.parameters())
    m, s = Metrics(), Store(f"metrics_{r}.txt")
    # rank 2 hosts the dashboard, so it compacts more often
    threading.Thread(target=flusher, args=(s, m, 0.01 if r == 2 else 600), daemon=True, name="flusher").start()
    for it in range(20000):
        loss = net(torch.randn(32, 64)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        m.add(f"loss/{it}", loss.item(), s)
        if it % 10 == 0:
            print(f"it={it} loss={loss.item():.5f}", flush=True)


if __name__ == "__main__":
    main()
