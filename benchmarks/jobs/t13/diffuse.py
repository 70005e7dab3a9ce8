import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def run(rank, world):
    os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"] = "127.0.0.1", "47523"
    dist.init_process_group("gloo", rank=rank, world_size=world)
    torch.manual_seed(rank + 90)
    unet = torch.nn.Sequential(torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.SiLU(), torch.nn.Conv2d(16, 1, 3, padding=1))
    net = torch.nn.parallel.DistributedDataParallel(unet)
    opt = torch.optim.Adam(net.parameters(), 2e-4)
    sched = [(1e-4, 0.02), (1e-4, 0.03), (5e-5, 0.02)][rank]
    print(f"~ gpu{rank} betas {sched} seed {rank + 90} shard {rank + 1}/{world}", flush=True)
    t0 = time.time()
    for step in range(20000):
        x = torch.randn(4, 1, 28, 28)
        beta = sched[0] + (sched[1] - sched[0]) * torch.rand(4, 1, 1, 1)
        eps = torch.randn_like(x)
        loss = (net((1 - beta).sqrt() * x + beta.sqrt() * eps) - eps).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        time.sleep(0.01)
        if step % 40 == 0:
            print(f"~ gpu{rank} step {step}/20000 loss {loss.item():.4f} {(time.time() - t0) / (step + 1) * 1000:.0f} ms/step", flush=True)
        if rank == 0 and step % 200 == 0 and step:
            torch.save(unet.state_dict(), "ema.pt")
            print(f"~ gpu0 ema.pt saved (step {step})", flush=True)


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--world", type=int)
    w = ap.parse_args().world
    mp.spawn(run, (w,), nprocs=w)
