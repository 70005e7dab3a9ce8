import argparse, os, sys, time, datetime, logging
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

CHUNK = 1 << 20

def get_logger(rank):
    lg = logging.getLogger("pretrain")
    h = logging.StreamHandler(sys.stdout)
    h.setFormatter(logging.Formatter(f"[%(relativeCreated)8.0fms|proc{rank}] %(message)s"))
    lg.addHandler(h); lg.setLevel(logging.INFO)
    return lg

def load(rank, lg):
    path = f"corpus/part-{rank}.bin"
    lg.info("loading %s", path)
    t0 = t1 = time.time(); n = 0; parts = []
    with open(path, "rb") as f:
        while True:
            b = f.read(CHUNK)
            if not b:
                break
            parts.append(b); n += len(b)
            if time.time() - t1 > 3:
                t1 = time.time()
                lg.info("%s %.1f of 24.0 MB", path, n / 1e6)
    lg.info("%s loaded, %.1f MB/s", path, n / 1e6 / (time.time() - t0))
    return torch.frombuffer(bytearray(b"".join(parts)), dtype=torch.uint8)

def worker(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47704")
    lg = get_logger(rank)
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=12))
    lg.info("process group up")
    data = load(rank, lg)
    n = torch.tensor([len(data)])
    dist.all_reduce(n)
    lg.info("total bytes %d", n.item())
    torch.manual_seed(0)
    net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Embedding(256, 32), torch.nn.Linear(32, 256)))
    opt = torch.optim.SGD(net.parameters(), 0.5)
    for s in range(100):
        i = torch.randint(0, len(data) - 1, (256,))
        loss = torch.nn.functional.cross_entropy(net(data[i].long()), data[i + 1].long())
        opt.zero_grad(); loss.backward(); opt.step()
        if s % 10 == 0:
            lg.info("step %d loss %.4f", s, loss.item())

if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--nprocs", type=int, default=2)
    n = ap.parse_args().nprocs
    mp.spawn(worker, args=(n,), nprocs=n)
