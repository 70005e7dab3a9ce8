import argparse, glob, json, sys, time
import numpy as np

ap = argparse.ArgumentParser(); ap.add_argument("--shards"); ap.add_argument("--epochs", type=int)
a = ap.parse_args()


class Table:
    def __init__(self, paths):
        self.paths, self.maps = paths, {}

    def __getitem__(self, i):
        if i not in self.maps:
            self.maps[i] = np.load(self.paths[i], mmap_mode="r")
        return self.maps[i]


class Run:
    def __init__(self):
        self.hist, self.w, self.t0 = [], np.zeros(12, "f4"), time.time()

    def __enter__(self):
        return self

    def __exit__(self, et, ev, tb):
        json.dump(self.hist, open(sys.argv[0].replace(".py", ".hist.json"), "w")) if et is None else None
        print(f"run summary: {len(self.hist)} shard updates in {time.time()-self.t0:.1f}s")
        for i, w in enumerate(self.w):
            print(f"   w[{i:02d}] = {w:+.4f}")
        for q in (5, 25, 50, 75, 95):
            print(f"   loss p{q:02d} = {np.percentile([h['mse'] for h in self.hist], q):.5f}")
        print("run summary end")


t = Table(sorted(glob.glob(a.shards + "/*.npy")))
print(f"{len(t.paths)} shards found, {a.epochs} epochs")
with Run() as run:
    for ep in range(a.epochs):
        for i in range(len(t.paths)):
            x = t[i]
            X, y = x[:, :12], x[:, 12]
            e = X @ run.w - y
            run.w -= .05 * X.T @ e / len(y)
            run.hist.append({"ep": ep, "shard": i, "mse": float((e ** 2).mean())})
            if i % 97 == 13:
                print(f"WARNING shard {i}: {int((np.abs(X) > 3).sum())} values outside 3 sigma, clipped in serving", file=sys.stderr)
            print(f"ep {ep} shard {i:5d}  rows {len(y)}  mse {run.hist[-1]['mse']:.5f}")
