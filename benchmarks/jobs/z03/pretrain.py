import datetime, fcntl, logging, os, sys, time
import numpy as np
import torch, torch.nn as nn
import torch.distributed as dist
import torch.multiprocessing as mp

WORLD = 3


def setup_log(rank):
    os.makedirs("logs", exist_ok=True)
    f = open(f"logs/worker_{rank}.log", "w", buffering=1)
    os.dup2(f.fileno(), 1); os.dup2(f.fileno(), 2)
    logging.basicConfig(stream=f, level=logging.INFO, format="[%(asctime)s] %(levelname).1s %(funcName)s: %(message)s")


class CacheLock:
    """exclusive lock on the tokenised cache of one split"""
    def __init__(self, path):
        self.path = path

    def __enter__(self):
        self.fh = open(self.path, "a+")
        try:
            fcntl.flock(self.fh, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.fh.seek(0)
            logging.warning("%s is locked (%s), waiting for it to be released", self.path, self.fh.read().strip() or "no owner recorded")
            fcntl.flock(self.fh, fcntl.LOCK_EX)
        logging.info("got %s", self.path)
        return self

    def __exit__(self, *a):
        fcntl.flock(self.fh, fcntl.LOCK_UN); self.fh.close()


def load_split(rank, epoch):
    part = epoch * WORLD + rank
    with CacheLock(f"cache/part{part}.lock"):
        p = f"cache/part{part}.npy"
        if not os.path.exists(p):
            rs = np.random.RandomState(part)
            np.save(p, rs.randint(0, 256, (4000, 33), dtype=np.int64))
            logging.info("tokenised part %d", part)
        return torch.from_numpy(np.load(p))


def run(rank):
    setup_log(rank)
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:48205", rank=rank, world_size=WORLD,
                            timeout=datetime.timedelta(seconds=12))
    torch.manual_seed(7)
    net = nn.Sequential(nn.Embedding(256, 32), nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 256))
    opt = torch.optim.SGD(net.parameters(), lr=0.3)
    for epoch in range(4):
        data = load_split(rank, epoch)
        for s in range(40):
            b = data[s * 100:(s + 1) * 100]
            loss = nn.functional.cross_entropy(net(b[:, :-1]).flatten(0, 1), b[:, 1:].flatten())
            opt.zero_grad(); loss.backward()
            flat = torch.cat([p.grad.flatten() for p in net.parameters()])
            dist.all_reduce(flat); flat /= WORLD
            o = 0
            for p in net.parameters():
                p.grad.copy_(flat[o:o + p.numel()].view_as(p)); o += p.numel()
            opt.step()
            if s % 10 == 9:
                logging.info("epoch %d step %d loss %.4f", epoch, s + 1, loss.item())
    logging.info("done")


if __name__ == "__main__":
    mp.spawn(run, nprocs=WORLD, join=True)
