import logging, os, sys
import torch, torch.distributed as dist

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s %(levelname)s rank={rank} | %(message)s")
log = logging.getLogger()

def run_split(n):
    logits = torch.randn(n, 10)
    labels = torch.randint(0, 10, (n,))
    return logits, labels

total = 1000
per = (total + world - 1) // world
n = min(per, total - rank * per)
log.info("evaluating %d samples", n)
logits, labels = run_split(n)
log.info("forward finished, logits %s", tuple(logits.shape))
conf = torch.zeros(10, 10)
for p, l in zip(logits.argmax(1), labels):
    conf[l, p] += 1
dist.all_reduce(conf)
log.info("accuracy %.3f", conf.diag().sum() / conf.sum())
hits = (logits.argmax(1) == labels).float()
log.info("computing per-sample agreement over the group, vector of %d", hits.numel())
dist.all_reduce(hits)
log.info("agreement %.3f", hits.mean() / world)
dist.destroy_process_group()
