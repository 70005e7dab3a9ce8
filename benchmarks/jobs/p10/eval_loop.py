import os, sys, time, datetime, logging
import torch, torch.distributed as dist
rank = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, stream=sys.stdout, format=f"%(asctime)s.%(msecs)03d eval[{rank}] %(levelname)s: %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=6))

def fetch(block):
    """video blocks from the archive; the tape robot is slow sometimes"""
    wait = 0.4
    for n in range(5):
        if rank == 3 and block >= 9 and n < 4 + (block > 12):
            log.warning("block %d: archive says 503 Service Unavailable, retry %d in %.1f s", block, n + 1, wait)
            time.sleep(wait)
            if block > 12: wait *= 2
            continue
        if rank == 1 and block % 5 == 2 and n == 0:
            log.error("block %d: checksum mismatch, reading it again", block); continue
        return torch.rand(32)
    log.error("block %d: five tries failed, waiting for the tape robot", block)
    time.sleep(4)
    return torch.rand(32)

tot = torch.zeros(1)
for b in range(30):
    x = fetch(b)
    t = x.mean().reshape(1); dist.all_reduce(t); tot += t / 4
    log.info("block %d/30 psnr %.3f", b, 30 + tot.item() / (b + 1))
dist.barrier()
log.info("final psnr %.3f", 30 + tot.item() / 30)
