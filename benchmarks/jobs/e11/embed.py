import argparse, os, logging
import torch, torch.distributed as dist
ap = argparse.ArgumentParser(); ap.add_argument("--index-rows", type=int); a = ap.parse_args()
dist.init_process_group("gloo")
r = dist.get_rank()
logging.basicConfig(level=logging.INFO, format=f"%(levelname).1s %(asctime)s worker{r}: %(message)s")
enc = torch.nn.Linear(64, 1024)
def build_index(n, chunk=25000):
    rows = []
    with torch.inference_mode():
        for s in range(0, n, chunk):
            rows.append(enc(torch.randn(chunk, 64)).half())
            done = torch.tensor([s + chunk]); dist.all_reduce(done)
            logging.info("encoded %d/%d (all workers: %d)", s + chunk, n, done.item())
    return torch.cat(rows)
ix = build_index(a.index_rows)
logging.info("index %s", tuple(ix.shape))
dist.barrier()
