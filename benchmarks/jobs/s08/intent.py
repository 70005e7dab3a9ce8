import csv, os, datetime
import torch, torch.distributed as dist, torch.multiprocessing as mp
import torch.nn as nn

def load(part):
    rows = list(csv.reader(open(f"tsv/part{part}.tsv"), delimiter="\t"))
    names = sorted({r[0] for r in rows})
    lab = {n: i for i, n in enumerate(names)}
    x = torch.tensor([[int(w[1:]) for w in r[1].split()] for r in rows])
    return x, torch.tensor([lab[r[0]] for r in rows]), names

def sync(params, world):
    g = torch.cat([p.grad.reshape(-1) for p in params])
    dist.all_reduce(g)
    off = 0
    for p in params:
        p.grad = (g[off:off + p.numel()] / world).view_as(p); off += p.numel()

def worker(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47408")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=datetime.timedelta(seconds=20))
    x, y, names = load(rank)
    print(f"worker {rank}: {len(x)} utterances, {len(names)} intents, first {names[0]}, last {names[-1]}", flush=True)
    torch.manual_seed(2)
    body = nn.EmbeddingBag(300, 64)
    head = nn.Linear(64, len(names))
    params = list(body.parameters()) + list(head.parameters())
    opt = torch.optim.Adam(params, 5e-3)
    for epoch in range(10):
        for i in range(0, 800, 40):
            loss = nn.functional.cross_entropy(head(body(x[i:i+40])), y[i:i+40])
            opt.zero_grad(); loss.backward(); sync(params, world); opt.step()
        print(f"worker {rank}: epoch {epoch} loss {loss.item():.3f}", flush=True)

if __name__ == "__main__":
    mp.spawn(worker, args=(4,), nprocs=4)
