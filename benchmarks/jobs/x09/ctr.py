"""CTR model. Dirty rows are dropped, overflowing steps are skipped (dynamic loss scale)."""
import json, logging, os, sys, time, threading, datetime
import torch, torch.distributed as dist
from torch import nn

r, w = int(os.environ["OMPI_COMM_WORLD_RANK"]), int(os.environ["OMPI_COMM_WORLD_SIZE"])
logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format=f"%(levelname)-8s ctr.%(funcName)s#{r} %(message)s")
log = logging.getLogger("ctr")


def rows(path):
    bad = 0
    for n, line in enumerate(open(path), 1):
        try:
            d = json.loads(line)
            yield d["u"], d["i"], d["dwell"], d["y"]
        except Exception:
            bad += 1
            log.exception("%s:%d dropped", path, n)
    log.error("%s: %d bad rows dropped (budget 50)", path, bad)
    if bad > 50:
        raise SystemExit(3)


def restore(path):
    try:
        return torch.load(path)
    except FileNotFoundError as e:
        log.critical("cannot restore %s: %s; starting from scratch", path, e)


beat = time.time()


def watchdog():
    while True:
        time.sleep(0.5)
        if time.time() - beat > 1.0:
            log.error("no progress for %.1f s, rank may hang", time.time() - beat)


if not torch.cuda.is_available():
    log.warning("CUDA not available, falling back to CPU")
data = torch.tensor(list(rows(f"clicks-{r}.jsonl")))
dist.init_process_group("gloo", rank=r, world_size=w, timeout=datetime.timedelta(seconds=60))
threading.Thread(target=watchdog, daemon=True).start()
state = restore("ctr_last.pt")
torch.manual_seed(0)
emb_u, emb_i, head = nn.Embedding(100, 8), nn.Embedding(500, 8), nn.Linear(17, 1)
params = [*emb_u.parameters(), *emb_i.parameters(), *head.parameters()]
opt = torch.optim.Adam(params, 1e-2)
scale, skipped, good = 2.0 ** 130, 0, 0
n = torch.tensor([len(data)]); dist.all_reduce(n, op=dist.ReduceOp.MIN)
STEPS = 150
for s in range(STEPS):
    b = data[torch.randint(0, int(n), (64,))]
    x = torch.cat([emb_u(b[:, 0].long()), emb_i(b[:, 1].long()), b[:, 2:3]], 1)
    loss = nn.functional.binary_cross_entropy_with_logits(head(x)[:, 0], b[:, 3])
    opt.zero_grad()
    (loss * scale).backward()
    for p in params:
        dist.all_reduce(p.grad); p.grad /= w * scale
    gn = torch.stack([p.grad.norm() for p in params]).norm()
    if not torch.isfinite(gn):
        scale /= 16; skipped += 1
        log.warning("step %d: gradient overflow, norm=%s, skipping step, loss scale -> %g", s, gn.item(), scale)
        continue
    opt.step(); good += 1
    if s in (60, 110):
        time.sleep(1.8 if r == 1 else 0)      # hard negatives are mined on one rank
    beat = time.time()
    if s % 10 == 0 and r == 0:
        log.info("step %d loss %.4f gnorm %.3f", s, loss.item(), gn.item())
dist.barrier()
if r == 0:
    torch.save(head.state_dict(), "ctr_last.pt")
    log.info("saved ctr_last.pt (%d bytes)", os.path.getsize("ctr_last.pt"))
log.info("finished: %d of %d steps applied, %d skipped", good, STEPS, skipped)
dist.destroy_process_group()
