import datetime, logging, os, queue, struct, sys, threading
import torch, torch.distributed as dist
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d [%(threadName)s] %(message)s", datefmt="%d/%m %H:%M:%S")
log = logging.getLogger()


class Feeder(threading.Thread):
    def __init__(self, path, bs=50):
        super().__init__(name="feeder", daemon=True)
        self.path, self.bs, self.q = path, bs, queue.Queue(4)

    def run(self):
        rows = []
        with open(self.path, "rb") as f:
            while head := f.read(2):
                u, i, v = f.read(struct.unpack("<H", head)[0]).decode("utf-8").split("\t")
                rows.append((int(u), int(i), float(v)))
                if len(rows) == self.bs:
                    self.q.put(rows); rows = []
        self.q.put(None)


def main(path):
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
    log.info("rank %d of %d, records %s (%d bytes)", dist.get_rank(), dist.get_world_size(), path, os.path.getsize(path))
    torch.manual_seed(1)
    users, items = nn.Embedding(500, 16), nn.Embedding(800, 16)
    ps = [users.weight, items.weight]
    opt = torch.optim.Adagrad(ps, 0.05)
    feeder = Feeder(path); feeder.start()
    n = 0
    while (rows := feeder.q.get()) is not None:
        u, i = torch.tensor([r[0] for r in rows]), torch.tensor([r[1] for r in rows])
        v = torch.tensor([r[2] for r in rows])
        loss = ((users(u) * items(i)).sum(1) - v).pow(2).mean()
        opt.zero_grad(); loss.backward()
        for p in ps: dist.all_reduce(p.grad, op=dist.ReduceOp.SUM)
        opt.step(); n += 1
        if n % 5 == 0: log.info("batch %d mse %.4f queue %d", n, loss.item(), feeder.q.qsize())
    log.info("end of data")
    dist.barrier(); dist.destroy_process_group()


main(sys.argv[1])
