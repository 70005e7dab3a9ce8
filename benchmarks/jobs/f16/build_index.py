import numpy as np, logging, time
logging.basicConfig(level=logging.DEBUG, format="%(levelname).1s %(asctime)s %(module)s:%(lineno)d] %(message)s")
rng = np.random.default_rng(0)
N, D = 60_000, 256
logging.info("loading embeddings: %d x %d", N, D)
emb = rng.standard_normal((N, D), dtype=np.float32)
emb /= np.linalg.norm(emb, axis=1, keepdims=True)
logging.info("normalised")
for k in (2000, 8000):
    s = emb[:k] @ emb[:k].T
    logging.info("warmup %d: mean sim %.5f", k, s.mean())
    del s
logging.info("all-pairs similarity for dedup")
sim = emb @ emb.T
dup = np.argwhere(np.triu(sim, 1) > 0.95)
logging.info("%d duplicates", len(dup))
