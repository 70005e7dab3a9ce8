"""Federated averaging, one MPI rank per hospital. numpy + torch.distributed (gloo)."""
import argparse, os, signal, subprocess, sys, time
import numpy as np


def auc(y, s):
    pos, neg = s[y == 1], s[y == 0]
    return float((pos[:, None] > neg[None, :]).mean())


def load_client(k):
    if k < 0:
        raise ValueError(f"unknown client {k}")
    r = np.random.default_rng(k)
    x = r.normal(size=(300 + 200 * k, 15))
    w = np.linspace(-1, 1, 15)
    return x, (x @ w + r.normal(size=len(x)) > 0).astype(float)


def main():
    import torch
    import torch.distributed as dist
    ap = argparse.ArgumentParser()
    ap.add_argument("--rounds", type=int); ap.add_argument("--port", type=int)
    a = ap.parse_args()
    k, n = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{a.port}", rank=k, world_size=n)
    x, y = load_client(k)
    # memory sampler, stopped with SIGTERM at the end
    mon = subprocess.Popen([sys.executable, "-c", "import time\nwhile True: time.sleep(1)"])
    w = np.zeros(15)
    for r in range(a.rounds):
        t = time.time()
        for _ in range(20):
            p = 1 / (1 + np.exp(-x @ w))
            w -= 0.3 * x.T @ (p - y) / len(y)
        if k == 3 and r in (4, 5):
            time.sleep(2.5)        # hospital 3 has its backup window
        mine = time.time() - t
        tt = [torch.zeros(1) for _ in range(n)]
        dist.all_gather(tt, torch.tensor([mine]))
        if k == 0 and max(float(v) for v in tt) > 1:
            slow = max(range(n), key=lambda i: float(tt[i]))
            print(f"WARNING round {r}: straggler detected, client {slow} took {float(tt[slow]):.1f}s, the others waited", file=sys.stderr)
        g = torch.from_numpy(w * len(y)); m = torch.tensor([float(len(y))], dtype=torch.float64)
        dist.all_reduce(g); dist.all_reduce(m)
        w = (g / m).numpy()
        print(f"c{k} r{r:02d} n={len(y)} auc={auc(y, x @ w):.4f}")
    mon.send_signal(signal.SIGTERM)
    rc = mon.wait()
    print(f"c{k} memory sampler terminated, exit code {rc}")
    if k == 0:
        np.save("global.npy", w)


if __name__ == "__main__":
    main()
