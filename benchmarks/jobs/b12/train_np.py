import argparse, glob, logging, os
import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file

rank = int(os.environ.get("OMPI_COMM_WORLD_RANK", 0))
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [rank {rank}] %(message)s")
log = logging.getLogger()


def latest(root):
    c = sorted(glob.glob(f"{root}/checkpoint-*"), key=lambda p: int(p.rsplit("-", 1)[1]))
    return c[-1] if c else None


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--out", default="out")
    ap.add_argument("--resume", action="store_true")
    a = ap.parse_args()
    w = load_file(os.environ["TINY"] + "/model.safetensors")
    m = {k: np.zeros_like(v) for k, v in w.items()}
    start = 0
    if a.resume and (c := latest(a.out)):
        start = int(c.rsplit("-", 1)[1])
        log.info("resuming from %s at step %d", c, start)
        w = load_file(f"{c}/model.safetensors")
        log.info("weights restored (%d tensors)", len(w))
        m = load_file(f"{c}/optimizer.safetensors")
        log.info("optimizer state restored")
    rng = np.random.default_rng(rank)
    for s in range(start + 1, a.steps + 1):
        for k in w:
            m[k] = 0.9 * m[k] + rng.standard_normal(w[k].shape).astype(w[k].dtype)
            w[k] -= 1e-4 * m[k]
        if s % 10 == 0:
            log.info("step %d |w|=%.3f", s, sum(float((x * x).sum()) for x in w.values()) ** 0.5)
        if s % 20 == 0 and rank == 0:
            d = f"{a.out}/checkpoint-{s}"
            os.makedirs(d, exist_ok=True)
            save_file(w, f"{d}/model.safetensors")
            save_file(m, f"{d}/optimizer.safetensors")


main()
