import os, signal, sys, time, torch, torch.distributed as dist, logging
R = int(os.environ["OMPI_COMM_WORLD_RANK"]); W = int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(level=logging.INFO, format=f"%(asctime)s rank={R} %(levelname)-8s %(message)s"); log = logging.getLogger()
flag = torch.zeros(1)
def on_usr1(sig, frame):
    log.critical("received %s: allocation is about to end, will checkpoint and exit", signal.Signals(sig).name); flag.fill_(1)
signal.signal(signal.SIGUSR1, on_usr1)
dist.init_process_group("gloo", rank=R, world_size=W)
with open("pids", "a") as f: f.write(f"{os.getpid()}\n")
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(9, 8)); o = torch.optim.Adam(m.parameters(), 1e-2)
for s in range(500):
    x = torch.randn(16, 8); t = torch.rand(16, 1); n = torch.randn_like(x); l = (m(torch.cat([x * (1 - t) + n * t, t], 1)) - n).pow(2).mean(); o.zero_grad(); l.backward(); o.step(); time.sleep(.15)
    stop = flag.clone(); dist.all_reduce(stop, op=dist.ReduceOp.MAX)
    if R == 0:
        log.info("step %d/500 eps-loss %.4f", s, l.item()); open("steps", "a").write("x\n")
    if stop.item():
        if R == 0: torch.save({"s": s, "m": m.module.state_dict()}, "last.ckpt"); log.warning("wrote last.ckpt at step %d, asking for a requeue", s)
        dist.barrier(); dist.destroy_process_group(); sys.exit(0)
