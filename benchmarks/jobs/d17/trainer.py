import os, logging, warnings, torch, torch.distributed as dist, sys
from torch.distributed.fsdp import fully_shard
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.state_dict import get_model_state_dict
logging.basicConfig(level=logging.INFO, format="[%(levelname)s|%(filename)s:%(lineno)d] %(message)s")
log = logging.getLogger("trainer")
dist.init_process_group("gloo"); rank = dist.get_rank()
m = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(3)])
ddp = torch.nn.parallel.DistributedDataParallel(m, find_unused_parameters=True)
o = torch.optim.AdamW(ddp.parameters(), 1e-3)
sch = torch.optim.lr_scheduler.StepLR(o, 10)
sch.step()
def save(step, dirs):
    for d in dirs:
        try:
            os.makedirs(d, exist_ok=True)
            path = os.path.join(d, f"step{step}.pt") if os.path.isdir(d) and not d.startswith("/dev") else d
            torch.save({"m": m.state_dict(), "o": o.state_dict()}, path)
            log.info("checkpoint for step %d saved to %s", step, path); return
        except (OSError, RuntimeError) as e:
            log.error("could not write checkpoint to %s: %s", d, e, exc_info=True)
            log.warning("falling back to the next checkpoint directory")
    raise SystemExit("no checkpoint directory left")
for step in range(1, 41):
    x = torch.randn(16, 64); l = (ddp(x) - x.tanh()).pow(2).mean(); o.zero_grad(); l.backward(); o.step()
    if rank == 0 and step % 10 == 0: log.info("step %d/40 loss %.4f", step, l.item())
    if rank == 0 and step % 20 == 0: save(step, ["scratch/ckpt", "backup_ckpt"])
dist.barrier(); log.info("rank %d finished", rank)
