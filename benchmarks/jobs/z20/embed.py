import gzip, json, logging, os, sys
import torch, torch.nn as nn, torch.distributed as dist
import torch.multiprocessing as mp
from tqdm import tqdm


def work(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="48241")
    dist.init_process_group("gloo", rank=rank, world_size=world)
    logging.basicConfig(level=logging.DEBUG, format=f"%(levelname)-8s embed.{rank} %(message)s", stream=sys.stdout)
    log = logging.getLogger("embed")
    torch.manual_seed(0)
    enc = nn.Sequential(nn.EmbeddingBag(128, 64), nn.Tanh(), nn.Linear(64, 16)).eval()
    path = f"shards/part-{rank:05d}.jsonl.gz"
    ok = bad = 0
    vecs = []
    with gzip.open(path, "rt") as f:
        for n, line in enumerate(tqdm(f, desc=f"rank {rank}", mininterval=1.0, disable=rank != 0), 1):
            try:
                r = json.loads(line)
            except json.JSONDecodeError:
                bad += 1
                log.exception("%s:%d is not valid JSON, record skipped", path, n)
                continue
            with torch.no_grad():
                vecs.append(enc(torch.tensor([[ord(c) for c in r["text"]]]))[0])
            ok += 1
            log.debug("id=%s norm=%.4f", r["id"], vecs[-1].norm())
    torch.save(torch.stack(vecs), f"shards/part-{rank:05d}.vec.pt")
    t = torch.tensor([ok, bad])
    dist.all_reduce(t)
    log.info("shard done: %d embedded, %d skipped", ok, bad)
    if rank == 0:
        log.info("all shards done: %d embedded, %d skipped (%.1f%%, limit 10%%)", t[0], t[1], 100 * t[1] / t.sum())
        if t[1] > 0.10 * t.sum():
            raise SystemExit("too many bad records")
    dist.destroy_process_group()


if __name__ == "__main__":
    mp.spawn(work, (4,), nprocs=4)
