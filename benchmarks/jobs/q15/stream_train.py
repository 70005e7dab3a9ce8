import os, time, logging, urllib.request, torch, torch.distributed as dist
r, n = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s [{r}] %(levelname)s %(message)s")
dist.init_process_group("gloo", rank=r, world_size=n)

def fetch(key, tries=6):
    for t in range(1, tries + 1):
        try:
            with urllib.request.urlopen(f"{os.environ['BLOBS']}/{key}", timeout=10) as f: return f.read()
        except Exception:
            logging.exception("GET %s failed (attempt %d of %d), again in %.1f s", key, t, tries, 0.2 * t)
            time.sleep(0.2 * t)
    raise RuntimeError(f"giving up on {key}")

w = torch.zeros(20, requires_grad=True)
for k in range(8):
    key = f"shard-{k * n + r}"
    x = torch.tensor(list(fetch(key))).float().view(-1, 20) / 255
    loss = (x @ w - x.mean(1)).square().mean(); loss.backward(); dist.all_reduce(w.grad); w.data -= 0.1 * w.grad / n; w.grad = None
    logging.info("%s done, loss %.6f", key, loss.item())
dist.barrier()
if r == 0: torch.save(w.data, "w.pt"); logging.info("all %d shards consumed, weights in w.pt", 8 * n)
dist.destroy_process_group()
