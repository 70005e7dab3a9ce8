import argparse
import json
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn


class JsonLog:
    def __init__(self, rank):
        self.rank = rank

    def __call__(self, event, **kw):
        print(json.dumps({"ts": round(time.time(), 2), "rank": self.rank, "event": event, **kw}), flush=True)


def worker(rank, a):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="47509")
    dist.init_process_group("gloo", rank=rank, world_size=a.procs)
    log = JsonLog(rank)
    torch.manual_seed(rank)
    net = nn.Sequential(nn.Conv2d(3, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 5, 1))
    ddp = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.AdamW(ddp.parameters(), 2e-3)
    tiles = [212, 198, 240, 187][rank % 4]
    log("data", tiles=tiles, sheet=f"N{47 + rank}E011")
    for step in range(1, a.steps + 1):
        t0 = time.time()
        x = torch.rand(2, 3, 32, 32)
        y = (x.sum(1) / 3 * 4.99).long()
        loss = nn.functional.cross_entropy(ddp(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 0:
            log("step", step=step, loss=round(loss.item(), 4), ms=round(1e3 * (time.time() - t0), 1))
        if step % 100 == 0:
            if rank == 0:
                path = os.path.join(a.run, "last.ckpt")
                log("checkpoint", step=step, path=path)
                with open(path, "wb") as f:
                    torch.save({"net": net.state_dict(), "opt": opt.state_dict(), "step": step}, f)
            dist.barrier()
    log("end")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--run")
    ap.add_argument("--procs", type=int, default=4)
    ap.add_argument("--steps", type=int, default=400)
    a = ap.parse_args()
    mp.spawn(worker, (a,), nprocs=a.procs)
