import os, sys, queue, threading, zlib
from datetime import timedelta
import torch, torch.distributed as dist, torch.multiprocessing as mp
from plog import PLog

def feed(path, q, bs):
    rows = []
    for line in open(path, encoding="utf-8"):
        y, t = line.rstrip("\n").split("\t")
        rows.append((int(y), [zlib.crc32(w.encode()) % 997 for w in t.split()]))
        if len(rows) == bs:
            q.put(rows); rows = []
    q.put(None)

def main(rank, world):
    log = PLog(f"w{rank}")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=14))
    q = queue.Queue(maxsize=8)
    threading.Thread(target=feed, args=(f"reviews.{rank}.tsv", q, 20), name=f"feed-{rank}", daemon=True).start()
    torch.manual_seed(0)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.EmbeddingBag(997, 16), torch.nn.Linear(16, 2)))
    opt = torch.optim.SGD(net.parameters(), 0.5)
    n = 0
    while (rows := q.get()) is not None:
        loss = torch.nn.functional.cross_entropy(net(torch.tensor([x for _, x in rows])), torch.tensor([y for y, _ in rows]))
        opt.zero_grad(); loss.backward(); opt.step()
        n += 1
        if n % 4 == 0:
            log(f"n={n} loss={loss.item():.4f} q={q.qsize()}")
    log("end of file")
    dist.barrier()

if __name__ == "__main__":
    w = int(sys.argv[1])
    mp.spawn(main, (w,), nprocs=w)
