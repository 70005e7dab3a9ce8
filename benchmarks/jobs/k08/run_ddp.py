import os, time, logging, datetime
import torch, torch.distributed as dist, torch.multiprocessing as mp
from torch.distributed import TCPStore
logging.basicConfig(format="%(levelname).1s%(asctime)s %(process)d %(filename)s:%(lineno)d] %(message)s", level=logging.INFO)
log = logging.getLogger()

def open_store(world):
    port = 4208
    while True:
        try:
            return TCPStore("127.0.0.1", port, world + 1, True, wait_for_workers=False), port
        except RuntimeError as e:
            log.error("cannot bind port %d: %s", port, e)
            port += 1
            log.warning("trying %d", port)

def work(rank, world, port):
    store = TCPStore("127.0.0.1", port, world + 1, False, wait_for_workers=False)
    dist.init_process_group("gloo", store=store, rank=rank, world_size=world)
    w = torch.zeros(5, requires_grad=True)
    for it in range(30):
        x = torch.randn(10, 5); loss = (x @ w - x.sum(1)).pow(2).mean(); loss.backward()
        dist.all_reduce(w.grad)
        with torch.no_grad(): w -= 0.05 * w.grad / world; w.grad = None
        if rank == 0 and it % 6 == 0: log.info("it %d loss %.5f", it, loss.item())
    dist.barrier(); dist.destroy_process_group()

if __name__ == "__main__":
    store, port = open_store(3)
    log.info("store listens on %d", port)
    mp.spawn(work, (3, port), nprocs=3)
    log.info("all workers joined, bye")
