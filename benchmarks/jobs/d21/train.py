import concurrent.futures as cf, logging, os, random, signal, time, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import IterableDataset, DataLoader
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("loader")
class Stream(IterableDataset):
    def __iter__(self):
        for i in range(60):
            if i == 25 and dist.get_rank() == 1 and not os.path.exists("shard25.ok"):
                open("shard25.ok", "w").write("1")
                buf = open("/proc/self/mem", "rb")
                buf.seek(0); buf.read(16)
            yield torch.randn(7)
def batches():
    tries = 0
    while tries < 3:
        try:
            for b in DataLoader(Stream(), batch_size=4, num_workers=1, timeout=20): yield b
            return
        except (RuntimeError, OSError) as e:
            tries += 1
            log.error("DataLoader worker failed, recreating the loader (restart %d of 3)", tries, exc_info=e)
dist.init_process_group("gloo"); rank = dist.get_rank()
m = DDP(torch.nn.Linear(7, 7)); o = torch.optim.SGD(m.parameters(), 0.1)
it = batches()
for s in range(12):
    b = next(it); l = (m(b) - b).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if rank == 0: log.info("step %d loss %.4f", s, l.item())
dist.barrier(); dist.destroy_process_group(); log.info("rank %d: finished all 12 steps", rank)
