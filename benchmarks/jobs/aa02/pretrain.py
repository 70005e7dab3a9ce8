import datetime
import logging
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def get_logger(rank):
    logging.basicConfig(format=f"%(asctime)s r{rank} %(levelname)s %(name)s: %(message)s", level=logging.INFO, force=True)
    return logging.getLogger("pretrain")


def build_vocab(log, path="cache/vocab"):
    # only one process of the cluster may write the vocabulary
    t0 = time.time()
    n = 0
    while os.path.exists(path + ".lock"):
        if n % 30 == 0:
            log.info("vocab cache is locked (%s), waiting (%.0f s)", open(path + ".lock").read().strip(), time.time() - t0)
        time.sleep(0.1)
        n += 1
    open(path + ".lock", "w").write(f"pid {os.getpid()}")
    words = sorted({w for w in open(__file__).read().split()})
    open(path + ".txt", "w").write("\n".join(words))
    os.unlink(path + ".lock")
    return len(words)


def worker(rank, world):
    log = get_logger(rank)
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:48302", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=15))
    log.info("process group up, world size %d", world)
    size = torch.zeros(1, dtype=torch.long)
    if rank == 0:
        size[0] = build_vocab(log)
    dist.broadcast(size, 0)
    log.info("vocabulary: %d words", size.item())
    emb = torch.nn.Embedding(int(size), 32)
    for p in emb.parameters():
        dist.broadcast(p.data, 0)
    log.info("training")


if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
