import argparse, logging, os
import torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--layers", type=int); ap.add_argument("--batches", type=int); a = ap.parse_args()
r, n = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.DEBUG, format="%(relativeCreated)d %(levelname)s %(funcName)s %(message)s")
log = logging.getLogger()
dist.init_process_group("gloo", rank=r, world_size=n)
layers = [torch.nn.Linear(64, 64) for _ in range(a.layers)]

def flush(f, held):
    log.info("writing %d arrays to %s", len(held), f.name)
    for h in held: f.write(h.numpy().tobytes())
    f.flush(); held.clear()

def run():
    held = []
    with open(f"scratch{r}/activations.bin", "wb") as f:
        for b in range(a.batches):
            x = torch.randn(32, 64)
            for k, l in enumerate(layers):
                with torch.no_grad(): x = torch.relu(l(x))
                held.append(x.clone()); log.debug("batch %d layer %d mean %.4f", b, k, x.mean())
            m = x.mean().reshape(1); dist.all_reduce(m)
            if b % 40 == 39: flush(f, held)
        flush(f, held)
    dist.barrier(); log.info("done")
run()
