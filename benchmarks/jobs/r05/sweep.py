import argparse, json, logging, math, os, sys, traceback, warnings
import multiprocessing as mp
import numpy as np

logging.basicConfig(level=logging.INFO, format="%(asctime)s.%(msecs)03d %(processName)s %(levelname)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("sweep")


def data():
    r = np.random.default_rng(0); X = r.normal(size=(400, 10)).astype("f4")
    return X, (np.sin(X[:, 0]) + X[:, 1] * X[:, 2] * .5).astype("f4")


def trial(k):
    r = np.random.default_rng(1000 + k)
    hp = {"lr": float(10 ** r.uniform(-3, 1.2)), "width": int(2 ** (r.integers(40, 44) if k % 9 == 4 else r.integers(3, 8))), "act": str(r.choice(["tanh", "relu", "gelu2"]) if k % 6 == 0 else r.choice(["tanh", "relu"]))}
    log.info("trial %02d %s", k, hp)
    try:
        X, y = data()
        act = {"tanh": (np.tanh, lambda a: 1 - a * a), "relu": (lambda z: np.maximum(z, 0), lambda a: a > 0)}[hp["act"]]
        W = np.zeros((10, hp["width"]), "f4") if hp["width"] > 2 ** 30 else r.normal(size=(10, hp["width"])).astype("f4") * .3
        v = r.normal(size=hp["width"]).astype("f4") * .1
        for s in range(250):
            h = act[0](X @ W); e = h @ v - y; loss = float((e ** 2).mean())
            if not math.isfinite(loss):
                raise FloatingPointError(f"loss is {loss} at step {s}")
            gv = h.T @ e / 200; gW = X.T @ (np.outer(e, v) * act[1](h)) / 200
            v -= hp["lr"] * gv; W -= hp["lr"] * gW
            if s % 50 == 0: log.info("trial %02d step %3d mse %.4g", k, s, loss)
        return k, hp, loss, None
    except Exception as ex:
        log.error("trial %02d failed\n%s", k, traceback.format_exc())
        return k, hp, math.inf, f"{type(ex).__name__}: {ex}"


if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--trials", type=int); ap.add_argument("--jobs", type=int); a = ap.parse_args()
    with mp.get_context("spawn").Pool(a.jobs) as p:
        res = sorted(p.imap_unordered(trial, range(a.trials)), key=lambda t: t[2])
    print(f"{'trial':>5} {'mse':>10}  hp / reason")
    for k, hp, l, why in res:
        print(f"{k:5d} {l:10.4g}  {why or json.dumps(hp)}")
    ok = [t for t in res if t[3] is None]
    json.dump(ok[0][1], open("best.json", "w"))
    print(f"{len(ok)} of {len(res)} trials completed; best trial {ok[0][0]} mse {ok[0][2]:.4f}, written to best.json")
    sys.exit(0 if ok else 1)
