import os, sys, hashlib, logging, torch, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-7s | %(message)s")
log = logging.getLogger("lm")
dist.init_process_group("gloo")
rank = int(os.environ["RANK"])
def verify_vocab(path, expected):
    h = hashlib.md5(open(path, "rb").read()).hexdigest()[:8]
    if h != expected:
        log.error("vocab checksum %s, expected %s - run tools/sync_vocab.sh", h, expected)
        sys.exit(3)
for step in range(12):
    t = torch.randn(1000); dist.all_reduce(t)
    if rank == 0: log.info("warmup %d  norm=%.2f", step, t.norm())
verify_vocab(f"vocab/local{rank}.txt", open("vocab/MD5").read().strip())
log.info("vocab ok")
for step in range(50):
    t = torch.randn(1000); dist.all_reduce(t)
    if rank == 0: log.info("train %d  norm=%.2f", step, t.norm())
