import os, sys, logging, datetime, torch, torch.distributed as dist
rank = int(os.environ["RANK"]); world = int(os.environ["WORLD_SIZE"])
logging.basicConfig(stream=sys.stdout, level=logging.INFO, format=f"%(asctime)s %(levelname)s rank={rank} | %(message)s")
log = logging.getLogger(__name__)
log.info("connecting to %s:%s as %d of %d", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"], rank, world)
dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
log.info("group is up: %d processes", dist.get_world_size())
x = torch.ones(4) * rank
for step in range(5):
    dist.all_reduce(x)
    log.info("step %d sum %.1f", step, x.sum())
dist.destroy_process_group()
