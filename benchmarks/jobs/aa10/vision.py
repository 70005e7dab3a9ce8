import argparse, faulthandler, logging, os, threading, time
import torch, torch.distributed as dist
from torch.utils.data import DataLoader, Dataset
from torch.nn.parallel import DistributedDataParallel as DDP

faulthandler.enable()
p = argparse.ArgumentParser(); p.add_argument("--workers", type=int); a = p.parse_args()
RANK = int(os.environ["RANK"])
logging.basicConfig(format="%(levelname).1s %(asctime)s %(process)d] %(message)s", level=logging.INFO)
cache_lock = threading.Lock()
cache = {}


def warm_cache():
    # rank 0 keeps the statistics cache warm in the background
    while True:
        with cache_lock:
            for i in range(100):
                cache[i] = time.time()
            time.sleep(0.5)
        time.sleep(0.001)


class Images(Dataset):
    def __len__(self):
        return 320

    def __getitem__(self, i):
        with cache_lock:
            cache[i] = i
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, 16, 16, generator=g), i % 10


def worker_init(wid):
    faulthandler.dump_traceback_later(10)
    logging.info("loader worker %d of rank %d started", wid, RANK)


dist.init_process_group("gloo")
if RANK == 0:
    threading.Thread(target=warm_cache, daemon=True, name="warm").start()
    time.sleep(0.1)
model = DDP(torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8 * 14 * 14, 10)))
opt = torch.optim.SGD(model.parameters(), 0.01)
for epoch in range(3):
    loader = DataLoader(Images(), batch_size=16, num_workers=a.workers, worker_init_fn=worker_init)
    logging.info("epoch %d: %d batches", epoch, len(loader))
    for it, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if it % 5 == 0:
            logging.info("epoch %d it %d loss %.4f", epoch, it, loss.item())
dist.destroy_process_group()
