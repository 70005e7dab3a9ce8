import os, sys, time, logging
from datetime import timedelta
import torch, torch.distributed as dist

host = os.environ["NODE"]
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s {host} %(levelname)-7s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
L = logging.getLogger()
scratch = f"scratch/{host}"

# staging is done by the prolog of the node; the marker is its last act
t0, said = time.time(), 0
while not os.path.exists(f"{scratch}/STAGED"):
    if time.time() - t0 > said:
        L.info("dataset not staged yet: no %s/STAGED (%d files so far)", scratch, len(os.listdir(scratch)))
        said += 5
    time.sleep(0.25)
L.info("dataset staged: %d files", len(os.listdir(scratch)) - 1)

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
L.info("joining as rank %d of %d at %s:%s", rank, world, os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
dist.init_process_group("gloo", timeout=timedelta(seconds=15))
L.info("group is up")
w = torch.zeros(1000)
for f in sorted(os.listdir(scratch)):
    if f.endswith(".pt"):
        w += torch.load(f"{scratch}/{f}").mean(0)
dist.all_reduce(w)
L.info("mean vector norm %.3f", w.norm())
dist.destroy_process_group()
