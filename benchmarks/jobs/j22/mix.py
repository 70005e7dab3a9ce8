import os, json, logging, torch, torch.distributed as dist, torch.multiprocessing as mp
MANIFEST = json.load(open("manifest.json"))
class ShardReader:
    def __init__(self, files): self.fh = [open(f, "rb") for f in files]
    def read(self, n): return b"".join(h.read(n) for h in self.fh)
def worker(i, n):
    logging.basicConfig(level=logging.INFO, format=f"%(levelname).1s %(asctime)s proc{i} %(filename)s:%(lineno)d] %(message)s")
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4122", rank=i, world_size=n)
    for lang in ("en", "de", "code"):
        files = MANIFEST[lang][i]
        logging.info("%s: opening %d shards", lang, len(files))
        rd = ShardReader(files); globals().setdefault("open_readers", []).append(rd)
        t = torch.tensor([len(rd.read(8))]); dist.all_reduce(t)
        logging.info("%s: %d bytes in the group", lang, t.item())
if __name__ == "__main__":
    mp.spawn(worker, (3,), nprocs=3)
