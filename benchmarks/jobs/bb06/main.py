import datetime, json, os, sys, time, traceback, random
import torch, torch.distributed as dist
class Zap:
    def __init__(s): s.f = {"rank": int(os.environ["RANK"])}
    def __call__(s, level, msg, **kw):
        fr = sys._getframe(1)
        print(json.dumps({"level": level, "ts": time.time(), "caller": f"{os.path.basename(fr.f_code.co_filename)}:{fr.f_lineno}", "msg": msg, **s.f, **kw}), flush=True)
z = Zap()
RANK = z.f["rank"]
def read_block(k):
    """blocks are in object storage; the client waits until the read lease is free"""
    lease = f"/dev/null" if not (RANK == 2 and k == 61) else "leases/block-61"
    t0 = time.time()
    while lease != "/dev/null" and not os.path.exists(lease):
        time.sleep(2)
        z("warn", "still waiting for read lease", block=k, waited_s=round(time.time() - t0, 1))
    return torch.randn(64, 32)
def main():
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=12))
    z("info", "process group up", world=dist.get_world_size(), timeout_s=12)
    w = torch.zeros(32)
    for k in range(200):
        x = read_block(k)
        g = (x @ w - x.sum(1)) @ x / 64
        dist.all_reduce(g)
        w -= 0.03 * g / dist.get_world_size()
        z("info", "step done", step=k, gnorm=round(g.norm().item(), 4))
    z("info", "training complete")
try:
    main()
except Exception as e:
    z("error", "training failed", error=str(e), stacktrace=traceback.format_exc())
    sys.exit(1)
