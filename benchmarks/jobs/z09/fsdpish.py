import json, os, sys, time, traceback
from datetime import timedelta
import torch, torch.nn as nn, torch.distributed as dist

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
jl = open(f"logs/node{rank // 2}-{rank % 2}.jsonl", "a", buffering=1)


def emit(event, **kw):
    jl.write(json.dumps(dict(t=round(time.time(), 3), ev=event, **kw)) + "\n")


def save_shard(step, shard, opt_state):
    d = f"ckpt/step{step:05d}"
    os.makedirs(d, exist_ok=True)
    p = f"{d}/shard-{rank}-of-{world}.pt"
    emit("save_begin", path=p)
    with open(p, "wb") as f:
        torch.save({"step": step, "param": shard, "opt": opt_state}, f)
    emit("save_end", path=p, mib=round(os.path.getsize(p) / 2**20, 1))
    dist.barrier()


def main():
    dist.init_process_group("gloo", timeout=timedelta(seconds=30))
    emit("start", rank=rank, world=world, pid=os.getpid(), cwd_free_gib=round(os.statvfs(".").f_bavail * 4096 / 2**30))
    torch.manual_seed(rank)
    shard = torch.randn(1_500_000)
    m = torch.zeros_like(shard); v = torch.zeros_like(shard)
    for step in range(1, 61):
        full = torch.empty(64 * world)
        dist.all_gather_into_tensor(full, shard[:64].contiguous())
        g = torch.randn_like(shard) * 0.01 + shard * 0.1
        n = g.pow(2).sum(); dist.all_reduce(n)
        m.mul_(0.9).add_(g, alpha=0.1); v.mul_(0.99).addcmul_(g, g, value=0.01)
        shard.addcdiv_(m, v.sqrt() + 1e-8, value=-1e-3)
        emit("step", step=step, grad_norm=round(n.sqrt().item(), 3))
        if step % 25 == 0:
            save_shard(step, shard, {"m": m, "v": v})
    dist.barrier()
    emit("end")


try:
    main()
except Exception as e:
    emit("fatal", error=f"{type(e).__name__}: {e}", tb=traceback.format_exc().splitlines())
    sys.exit(1)
