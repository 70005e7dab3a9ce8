#!/usr/bin/env python
"""Matrix factorisation for the 'also bought' shelf."""
import sys, os, glob, traceback
import numpy as np

W = "work"

def ratings():
    rng = np.random.default_rng(4)
    m = rng.random((400, 300)) * (rng.random((400, 300)) < 0.1)
    np.save(f"{W}/ratings.npy", m)
    print("ratings: %d users, %d items, %d entries" % (*m.shape, (m > 0).sum()))
    # state of the previous night
    np.savez(f"{W}/ckpt/it0040.npz", u=rng.random((400, 64)), v=rng.random((300, 64)), it=40)
    b = open(f"{W}/ckpt/it0040.npz", "rb").read()
    open(f"{W}/ckpt/it0060.npz", "wb").write(b[: len(b) // 3])

def latest():
    for p in sorted(glob.glob(f"{W}/ckpt/*.npz"), reverse=True):
        try:
            with np.load(p) as z:
                return z["u"], z["v"], int(z["it"])
        except Exception:
            print("WARNING: cannot load %s, trying an older one" % p)
            traceback.print_exc()
    raise SystemExit("no usable state")

def factorise():
    m = np.load(f"{W}/ratings.npy"); mask = m > 0
    u, v, it0 = latest()
    print("resumed at iteration", it0)
    for it in range(it0, it0 + 260):
        e = mask * (m - u @ v.T / 64)
        u += 0.02 * e @ v; v += 0.02 * e.T @ u
        print("iter %4d  rmse %.5f" % (it, np.sqrt((e ** 2).sum() / mask.sum())))
    np.savez(f"{W}/ckpt/final.npz", u=u, v=v)

def export():
    z = np.load(f"{W}/ckpt/final.npz")
    try:
        import hnswlib
    except ImportError as e:
        print("WARNING: no ANN index will be built (%s)" % e)
    for name in ("users", "items", "embeddings"):
        part = {"users": z["u"], "items": z["v"], "embeddings": np.vstack([z["u"], z["v"]])}[name]
        path = f"{W}/export/{name}.f32"
        print("writing %s (%d x %d)" % (path, *part.shape))
        with open(path, "wb") as f:
            f.write(part.astype("<f4").tobytes())
            f.flush()
    print("export complete")

{"ratings": ratings, "factorise": factorise, "export": export}[sys.argv[1]]()
