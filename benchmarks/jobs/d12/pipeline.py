import multiprocessing as mp, os, signal, time, logging, sys, traceback
import torch, torch.distributed as dist, torch.multiprocessing as tmp
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(processName)s %(levelname)s %(message)s")
log = logging.getLogger(__name__)

def tokenize_shard(i, attempt, q):
    n = 0
    lines = open("corpus.txt", "rb").read().split(b"\n")[i::4]
    enc = "ascii" if attempt == 0 else "latin-1"
    for l in lines:
        n += len(l.decode(enc).split())
    q.put((i, n))

def preprocess():
    q = mp.Queue(); done = {}; tries = {i: 0 for i in range(4)}
    while len(done) < 4:
        procs = {i: mp.Process(target=tokenize_shard, args=(i, tries[i], q), name=f"tok-{i}") for i in range(4) if i not in done}
        for p in procs.values(): p.start()
        for i, p in procs.items():
            p.join()
            if p.exitcode != 0:
                tries[i] += 1
                log.error("worker %s (pid %d) died with exit code %s, restarting it with fallback encoding (restart %d/3)", p.name, p.pid, p.exitcode, tries[i])
        while not q.empty():
            i, n = q.get(); done[i] = n
        time.sleep(0.1)
        while not q.empty():
            i, n = q.get(); done[i] = n
    log.info("tokenized 4/4 shards: %s", done)

def worker(rank, ws):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="41822")
    dist.init_process_group("gloo", rank=rank, world_size=ws)
    m = torch.nn.parallel.DistributedDataParallel(torch.nn.Embedding(100, 16)); o = torch.optim.Adagrad(m.parameters(), 0.1)
    for ep in range(4):
        for _ in range(15):
            e = m(torch.randint(100, (32,))); l = (e.norm(dim=1) - 1).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        if rank == 0: print(f"epoch {ep}: loss {l.item():.5f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    preprocess()
    tmp.start_processes(worker, args=(3,), nprocs=3, start_method="fork")
    log.info("embedding training finished")
