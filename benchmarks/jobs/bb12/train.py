import json, os, warnings; warnings.filterwarnings("ignore", category=DeprecationWarning)
import torch, torch.distributed as dist
from slog import Log
rank = int(os.environ["RANK"]); log = Log(app="tabular", rank=rank)
def rows(fn):
    bad = 0; out = []
    for ln, s in enumerate(open(fn), 1):
        try:
            r = json.loads(s); out.append((r["v"], r["y"]))
        except ValueError:
            bad += 1; log.exception("row_unreadable", file=fn, line=ln, action="skip")
    log.info("rows_loaded", file=fn, good=len(out), skipped=bad)
    return out
dist.init_process_group("gloo")
data = rows(f"rows{rank}.jsonl")
m = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(6, 1)); o = torch.optim.Adam(m.parameters(), 0.02)
for ep in range(5):
    for i in range(40):   # same number of steps on both ranks
        b = [data[(i * 9 + k) % len(data)] for k in range(9)]
        x = torch.tensor([v for v, _ in b]); y = torch.tensor([y for _, y in b])
        l = (m(x)[:, 0] - y).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
        log.info("step", epoch=ep, step=ep * 40 + i, loss=round(l.item(), 4))
    log.info("epoch_done", epoch=ep)
if rank == 0:
    torch.save(m.module.state_dict(), "model.pt"); log.info("model_saved", path="model.pt", bytes=os.path.getsize("model.pt"))
dist.destroy_process_group(); log.info("run_finished", epochs=5)
