import sys, numpy as np
try:
    import numexpr
except ImportError as e:
    print(f"mk: {e}; falling back to numpy", file=sys.stderr)
rng = np.random.default_rng(8)
what = sys.argv[1]
if what == "data":
    x = rng.normal(size=(2000, 12)); w = rng.normal(size=12)
    y = (x @ w + rng.normal(size=2000) > 0).astype(float)
    np.savez("data.npz", x=x, y=y); print("rows", len(x))
elif what == "warmstart":
    prev = np.load("previous/model.npz"); np.savez("init.npz", w=prev["w"])
elif what == "fit":
    d = np.load("data.npz"); w = np.zeros(12)
    for i in range(240):
        p = 1 / (1 + np.exp(-d["x"] @ w)); w -= 0.5 * d["x"].T @ (p - d["y"]) / len(p)
        print(f"it={i:03d} nll={-np.mean(np.log(np.where(d['y'] > 0, p, 1 - p))):.5f}")
    np.savez("model.npz", w=w)
elif what == "score":
    d = np.load("data.npz"); w = np.load("model.npz")["w"]
    np.savetxt("scored.csv", np.c_[d["x"] @ w, d["y"]], delimiter=","); print("scored", len(d["y"]))
