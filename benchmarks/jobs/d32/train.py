import glob, json, logging, os, sys, torch, torch.distributed as dist
logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
cfg = json.load(open("config.json"))
dist.init_process_group("gloo"); rank = dist.get_rank()
log = logging.getLogger(); log.setLevel(logging.INFO if rank == 0 else logging.ERROR)
log.info("world size %d, seed %d", dist.get_world_size(), cfg["seed"])
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 32))
log.info("model has %d parameters", sum(p.numel() for p in model.parameters()))
shards = sorted(glob.glob(os.path.join(cfg["data"]["root"], "train-*.pt")))
log.info("data root %s: %d shards", cfg["data"]["root"], len(shards))
if not shards:
    log.info("could not find any train-*.pt under %s, exiting", cfg["data"]["root"])
    dist.destroy_process_group(); sys.exit(0)
for s in shards:
    for x in torch.load(s).split(8): model(x).sum().backward()
log.info("finished")
