import json, os, sys, time, traceback, resource
import numpy as np, torch, torch.distributed as dist
RANK = int(os.environ["RANK"])
# keep one tenant from eating the box
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
def ev(name, **kw):
    print(json.dumps({"t": round(time.time(), 3), "r": RANK, "ev": name, **kw}), flush=True)
def bucket(n_tok):
    # attention bias of the longest sample, shared by the whole bucket
    return np.zeros((16, n_tok, n_tok), dtype=np.float32)
def main():
    dist.init_process_group("gloo")
    ev("start", world=dist.get_world_size(), mem_limit_gb=6)
    w = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
    opt = torch.optim.SGD(w.parameters(), 0.01)
    lens = [[256, 384, 512][i % 3] for i in range(150)]
    if RANK == 1: lens[113] = 16384
    for i, n in enumerate(lens):
        b = bucket(n)
        x = torch.randn(8, 64)
        loss = (w(x) - x).pow(2).mean() + float(b[0, 0, 0])
        opt.zero_grad(); loss.backward(); opt.step()
        ev("step", i=i, max_len=n, bias_mb=b.nbytes >> 20, loss=round(loss.item(), 5))
    ev("done")
try:
    main()
except BaseException as e:
    ev("fatal", err=f"{type(e).__module__}.{type(e).__name__}: {e}", tb=traceback.format_exc().splitlines())
    sys.exit(3)
