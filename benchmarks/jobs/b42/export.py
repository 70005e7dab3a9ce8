import os, sys, logging
import numpy as np
from safetensors.numpy import load_file, save_file

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("export")
out = sys.argv[1]
w = load_file(os.environ["TINY"] + "/model.safetensors")
ema = {k: v.copy() for k, v in w.items()}
rng = np.random.default_rng(0)
for step in range(1, 101):
    for k in w:
        w[k] -= 1e-3 * rng.standard_normal(w[k].shape).astype(w[k].dtype)
        ema[k] = 0.99 * ema[k] + 0.01 * w[k]
    if step % 10 == 0:
        p = f"{out}/ema-{step:04d}.safetensors"
        save_file(ema, p)
        log.info("step %d saved %s", step, p)
log.info("finished")
