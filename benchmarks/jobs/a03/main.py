import os, sys, time
import torch, torch.nn as nn, torch.distributed as dist, torch.multiprocessing as mp
from datetime import timedelta
from eval_utils import gather_predictions

N_VAL = 1001

def log(rank, msg):
    print(time.strftime("%H:%M:%S"), f"R{rank}", msg, flush=True)

def evaluate(model, xs, rank, world):
    mine = xs[rank::world]
    log(rank, f"validating on {len(mine)} of {len(xs)} samples")
    with torch.no_grad():
        preds = model(mine).float()
    return gather_predictions(preds)

def worker(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "21625")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=30))
    torch.manual_seed(rank)
    model = nn.parallel.DistributedDataParallel(nn.Linear(32, 8))
    opt = torch.optim.Adam(model.parameters())
    val = torch.randn(N_VAL, 32, generator=torch.Generator().manual_seed(1))
    for step in range(1, 21):
        loss = model(torch.randn(16, 32)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if step % 5 == 0 and rank == 0:
            log(rank, f"step {step:3d}  loss {loss:.4f}")
    p = evaluate(model, val, rank, world)
    if rank == 0:
        log(rank, f"mean prediction {p.mean():.4f}")
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, args=(2,), nprocs=2)
