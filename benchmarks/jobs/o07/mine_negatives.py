import argparse, logging, time, numpy as np, torch
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)s | %(message)s")
log = logging.getLogger()
def encode(n, d, bs=5000):
    rng = np.random.default_rng(0); out = []
    for i in range(0, n, bs):
        v = rng.standard_normal((bs, d), dtype=np.float32); out.append(v / np.linalg.norm(v, axis=1, keepdims=True))
        log.info("encoded %d/%d", i + bs, n)
    return np.concatenate(out)
def mine(q, k=10):
    log.info("scoring %d x %d", len(q), len(q))
    scores = q @ q.T
    np.fill_diagonal(scores, -1)
    return np.argpartition(-scores, k, axis=1)[:, :k]
p = argparse.ArgumentParser(); p.add_argument("--n", type=int); p.add_argument("--emb-dim", type=int); a = p.parse_args()
q = encode(a.n, a.emb_dim); neg = mine(q); np.save("negatives.npy", neg); log.info("saved")
