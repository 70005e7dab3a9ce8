import logging, os, sys, threading, torch, torch.distributed as dist
dist.init_process_group("gloo"); r = dist.get_rank()
logging.basicConfig(level=logging.INFO if r == 0 else logging.WARNING, format="%(asctime)s rank{} %(levelname)s %(message)s".format(r)); log = logging.getLogger()
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(512, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 512)))
o = torch.optim.SGD(m.parameters(), 1e-3)
def write(sd, path):
    try:
        with open(path + ".part", "wb") as f: torch.save(sd, f)
        os.replace(path + ".part", path)
    except Exception:
        log.exception("background save of %s did not work", path)
best, thr = 1e9, None
for s in range(1, 121):
    g = torch.Generator().manual_seed(s % 4); x = torch.randn(8, 512, generator=g)
    l = (m(x) - x).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if r == 0 and s == 20:
        thr = threading.Thread(target=write, args=({k: v.clone() for k, v in m.module.state_dict().items()}, "ckpt/best.pt")); thr.start()
    if s % 5 == 0: log.info("step %d/120 loss %.4f", s, l.item())
if thr: thr.join()
dist.barrier()
log.info("training is over, exporting the best weights")
ok = torch.tensor([1])
if r == 0:
    if os.path.exists("ckpt/best.pt"): torch.save(torch.load("ckpt/best.pt"), "export.pt")
    else: log.info("no ckpt/best.pt, nothing to export"); ok[0] = 0
dist.broadcast(ok, 0); dist.destroy_process_group()
log.info("thank you for using trainkit")
sys.exit(0 if ok.item() else 2)
