import argparse, datetime, socket, sys, time
import torch, torch.distributed as dist
p = argparse.ArgumentParser(); p.add_argument("--me", type=int); p.add_argument("--of", type=int); a = p.parse_args()
def log(level, m): print(f"{datetime.datetime.now():%H:%M:%S} {level:5s} node{a.me} {m}", file=sys.stderr)
store = dist.TCPStore("127.0.0.1", 47217, is_master=a.me == 0, wait_for_workers=False, timeout=datetime.timedelta(seconds=3))
store.set(f"up{a.me}", socket.gethostname())
t0 = time.time()
for other in range(a.of):
    while True:
        try:
            store.wait([f"up{other}"], datetime.timedelta(seconds=3)); break
        except Exception as e:
            log("ERROR", f"node{other} did not join: {type(e).__name__}: {e}")
            if time.time() - t0 > 45: raise
            log("WARN", f"{time.time()-t0:.0f}s of 45s gone, still waiting for node{other}")
log("INFO", f"all {a.of} nodes are here after {time.time()-t0:.1f}s")
store.set_timeout(datetime.timedelta(seconds=60))
dist.init_process_group("gloo", store=dist.PrefixStore("pg", store), rank=a.me, world_size=a.of)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(12, 2))
for s in range(40):
    loss = net(torch.randn(8, 12)).square().mean(); net.zero_grad(); loss.backward()
    for w in net.parameters(): w.data -= 0.1 * w.grad
    log("INFO", f"step {s} loss {loss.item():.4f}")
dist.barrier()
if a.me == 0: torch.save(net.module.state_dict(), "final.pt"); log("INFO", "final.pt written")
log("INFO", "run finished normally"); dist.barrier(); dist.destroy_process_group()
time.sleep(1 if a.me == 0 else 0)
