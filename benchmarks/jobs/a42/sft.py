import json, sys, torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp

def encode(ex, n=32):
    s = (ex["prompt"] + ex["response"]).encode()[:n]
    return torch.tensor(list(s) + [0] * (n - len(s)))

def iterate(path, rank, world):
    with open(path) as f:
        for i, line in enumerate(f):
            if i % world == rank:
                yield encode(json.loads(line))

def run(rank, world, path):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:21905", rank=rank, world_size=world)
    m = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Embedding(256, 24), nn.Linear(24, 256))); o = torch.optim.Adam(m.parameters(), 1e-3)
    for k, ids in enumerate(iterate(path, rank, world)):
        loss = nn.functional.cross_entropy(m(ids[:-1]), ids[1:]); o.zero_grad(); loss.backward(); o.step()
        if k % 15 == 0: print(f"rank={rank} example={k} loss={loss.item():.3f}", flush=True)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(run, (4, sys.argv[1]), nprocs=4)
