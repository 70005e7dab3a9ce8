import json, os, sys, time, urllib.request
import numpy as np


def extract():
    r = np.random.default_rng(2)
    U, V = r.normal(size=(300, 6)), r.normal(size=(120, 6))
    m = r.random((300, 120)) < .25
    R = np.where(m, U @ V.T + r.normal(size=m.shape) * .3, np.nan)
    R[17] = np.nan; R[:, 44] = np.nan
    np.save("ratings.npy", R)
    print(f"ratings {int(m.sum())}, empty users {int(np.isnan(R).all(1).sum())}, empty items {int(np.isnan(R).all(0).sum())}")
    np.nanmean(R, axis=1)


def factorize():
    R = np.load("ratings.npy"); m = ~np.isnan(R); r = np.random.default_rng(3)
    P, Q = r.normal(size=(300, 8)) * .3, r.normal(size=(120, 8)) * .3
    for it in range(25):
        for u in range(300):
            q = Q[m[u]]
            if len(q) == 0:
                if it == 0: print(f"WARN user {u}: singular system, factor left at its prior")
                continue
            P[u] = np.linalg.solve(q.T @ q + .5 * np.eye(8), q.T @ R[u, m[u]])
        for i in range(120):
            p = P[m[:, i]]
            if len(p) == 0:
                if it == 0: print(f"WARN item {i}: singular system, factor left at its prior")
                continue
            Q[i] = np.linalg.solve(p.T @ p + .5 * np.eye(8), p.T @ R[m[:, i], i])
        print(f"als {it:2d} rmse {np.sqrt(np.nanmean((P @ Q.T - R) ** 2)):.5f}")
    np.savez("factors.npz", P=P, Q=Q)


def onnx():
    import onnx
    onnx.save(None, "factors.onnx")


def notify():
    urllib.request.urlopen("http://127.0.0.1:47340/hooks/reco", data=b'{"text": "factors are ready"}', timeout=3)


def evaluate():
    R, f = np.load("ratings.npy"), np.load("factors.npz"); E = f["P"] @ f["Q"].T - R
    print("segment   n      mae     max error")
    for k in range(0, 300, 30):
        e = np.abs(E[k:k + 30]); print(f"u{k:03d}   {int((~np.isnan(e)).sum()):5d}  {np.nanmean(e):.4f}   {np.nanmax(e):.4f}")
    json.dump({"mae": float(np.nanmean(np.abs(E)))}, open("metrics.json", "w"))


def compare():
    old = json.load(open("previous/metrics.json"))
    print("delta", json.load(open("metrics.json"))["mae"] - old["mae"])


def publish():
    os.makedirs("published", exist_ok=True)
    for f in ("factors.npz", "metrics.json"): os.replace(f, "published/" + f)
    print("published", sorted(os.listdir("published")), "mae", round(json.load(open("published/metrics.json"))["mae"], 4))


globals()[sys.argv[1]]()
