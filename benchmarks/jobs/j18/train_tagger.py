import os, time, random, logging, torch, torch.distributed as dist
from datetime import timedelta
logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(name)s - %(message)s", datefmt="%m/%d/%Y %H:%M:%S")
logger = logging.getLogger(__name__)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
BUCKETS = ["short", "mid", "long", "xlong"]
LEN = {"short": 40, "mid": 60, "long": 110, "xlong": 6500}
def edit_distance(a, b):
    prev = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        cur = [i]
        for j, y in enumerate(b, 1):
            cur.append(min(prev[j] + 1, cur[-1] + 1, prev[j - 1] + (x != y)))
        prev = cur
    return prev[-1]
bucket = BUCKETS[rank]
rng = random.Random(rank)
docs = ["".join(rng.choice("abcdef") for _ in range(LEN[bucket])) for _ in range(6)]
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4)); opt = torch.optim.SGD(model.parameters(), .1)
for step in range(10):
    l = model(torch.randn(8, 4)).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step()
    if rank == 0: logger.info("step %d loss %.4f", step, l.item())
logger.info("***** Running evaluation on bucket '%s' (%d documents) *****", bucket, len(docs))
tot = sum(edit_distance(a, b) for a, b in zip(docs, docs[1:]))
logger.info("bucket %s: distance %d", bucket, tot)
dist.monitored_barrier(timeout=timedelta(seconds=15))
if rank == 0: logger.info("evaluation done")
