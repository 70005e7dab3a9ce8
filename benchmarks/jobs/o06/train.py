import argparse, glob, random, numpy as np, torch
class ShardReader:
    """Keeps every shard open for cheap random access."""
    def __init__(self, pattern):
        self.paths = sorted(glob.glob(pattern)); self.cache = {}
    def get(self, i):
        f = self.cache.get(i)
        if f is None:
            f = self.cache[i] = open(self.paths[i], "rb", buffering=0)
        f.seek(random.randrange(0, 400) * 2)
        return np.frombuffer(f.read(64), dtype=np.uint16).astype(np.int64)
p = argparse.ArgumentParser(); p.add_argument("--shards"); p.add_argument("--steps", type=int); a = p.parse_args()
rd = ShardReader(a.shards + "/tok_*.bin"); print(f"{len(rd.paths)} shards", flush=True)
random.seed(0)
m = torch.nn.Sequential(torch.nn.Embedding(200, 32), torch.nn.Linear(32, 200)); opt = torch.optim.SGD(m.parameters(), lr=.1)
for step in range(a.steps):
    x = torch.from_numpy(np.stack([rd.get(random.randrange(len(rd.paths))) for _ in range(4)]))
    loss = torch.nn.functional.cross_entropy(m(x[:, :-1]).flatten(0, 1), x[:, 1:].flatten()); loss.backward(); opt.step(); opt.zero_grad()
    if step % 5 == 0: print(f"step {step:4d} | loss {loss.item():.4f}", flush=True)
