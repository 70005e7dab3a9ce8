import os, time, logging, torch, torch.distributed as dist
from datetime import timedelta
R = int(os.environ["OMPI_COMM_WORLD_RANK"]); W = int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s %(levelname)s rank={R} | %(message)s")
log = logging.getLogger()

def cached_features(part):
    lock, out = f"cache/part{part}.lock", f"cache/part{part}.pt"
    n = 0
    while os.path.exists(lock):
        if n % 10 == 0: log.info("%s is held, waiting", lock)
        n += 1; time.sleep(1)
    open(lock, "w").close()
    if not os.path.exists(out): torch.save(torch.randn(64, 8), out)
    os.remove(lock)
    log.info("features %s ready", out)
    return torch.load(out)

dist.init_process_group("gloo", init_method="tcp://127.0.0.1:4108", rank=R, world_size=W, timeout=timedelta(seconds=25))
log.info("joined, %d ranks", W)
feats = cached_features(R)
lin = torch.nn.Linear(8, 1); opt = torch.optim.SGD(lin.parameters(), .01)
for step in range(30):
    l = lin(feats).pow(2).mean(); opt.zero_grad(); l.backward()
    for p in lin.parameters(): dist.all_reduce(p.grad)
    opt.step(); log.info("step %d loss %.4f", step, l.item())
