import logging, os, pickle, time, traceback
import torch, torch.distributed as dist, torch.multiprocessing as mp, torch.nn as nn


def build(rank, log):
    g = torch.Generator().manual_seed(rank)
    parts = []
    for k in range(6):
        parts.append(torch.randint(0, 2000, (2, 4000), generator=g)); time.sleep(1.1)
        log.info("partition %d: bucket %d/6 built", rank, k + 1)
    return torch.cat(parts, 1)


def edges_of(rank, log):
    path = f"cache/part{rank}.pkl"
    try:
        with open(path, "rb") as f:
            return pickle.load(f)
    except FileNotFoundError:
        log.info("no cache for partition %d, sampling it", rank)
        return torch.randint(0, 2000, (2, 24000), generator=torch.Generator().manual_seed(rank))
    except Exception:
        log.error("cache file %s is unreadable, rebuilding it\n%s", path, traceback.format_exc().rstrip())
        e = build(rank, log)
        with open(path, "wb") as f:
            pickle.dump(e, f)
        return e


def run(rank, world):
    logging.basicConfig(level=logging.INFO, format=f"%(relativeCreated)7d ms g{rank} %(levelname)s %(message)s")
    log = logging.getLogger("graphfit")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    e = edges_of(rank, log)
    log.info("%d edges", e.shape[1])
    t = time.time(); dist.barrier()
    if time.time() - t > 3:
        log.warning("waited %.1f s for the slowest rank", time.time() - t)
    torch.manual_seed(0)
    emb = nn.parallel.DistributedDataParallel(nn.Embedding(2000, 32))
    opt = torch.optim.Adam(emb.parameters(), 0.01)
    for s in range(120):
        i = torch.randint(0, e.shape[1], (512,))
        u, v = emb(e[:, i]); neg = v[torch.randperm(512)]
        loss = -(nn.functional.logsigmoid((u * v).sum(-1)) + nn.functional.logsigmoid(-(u * neg).sum(-1))).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 10 == 9: log.info("iter %d loss %.4f", s + 1, loss.item())
    if rank == 0:
        torch.save(emb.module.weight.data, "nodes.pt"); log.info("node vectors saved (2000 x 32)")
    dist.barrier(); dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(run, (3,), nprocs=3)
    print("graphfit: ok")
