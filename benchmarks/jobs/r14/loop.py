import logging, math
import numpy as np
log = logging.getLogger("loop")


class Diverged(ArithmeticError):
    pass


def fit(lr, steps=200, hook=None, seed=0):
    r = np.random.default_rng(seed); X = r.normal(size=(128, 5)); y = X @ np.arange(5.); w = np.zeros(5)
    for s in range(steps):
        e = X @ w - y; l = float(e @ e / 128)
        if not math.isfinite(l):
            log.critical("loss is %s at step %d, giving up", l, s); raise Diverged(f"loss {l} at step {s}")
        w -= lr * X.T @ e / 128
        if hook:
            try: hook(s, l)
            except Exception: log.exception("hook failed at step %d, ignored", s)
    return w, l


def save(path, w):
    with open(path, "wb") as f: np.save(f, w)


def load(path):
    w = np.load(path)
    if w.shape != (5,): raise ValueError(f"checkpoint has shape {w.shape}, expected (5,)")
    return w


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    w, l = fit(.1, hook=lambda s, l: s % 20 == 0 and log.info("step %d loss %.6f", s, l)); save("w.npy", w); print("final loss", l, "weights", load("w.npy").round(3))
