import argparse
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class VAE(nn.Module):
    def __init__(self, d=512, z=32):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, 400), nn.ReLU(), nn.Linear(400, 2 * z))
        self.dec = nn.Sequential(nn.Linear(z, 400), nn.ReLU(), nn.Linear(400, d))

    def forward(self, x):
        mu, lv = self.enc(x).chunk(2, -1)
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        return self.dec(z), mu, lv


def save(path, **state):
    t = time.time()
    torch.save(state, path)
    print(f"  saved {path} ({os.path.getsize(path) / 2**20:.1f} MiB, {time.time() - t:.2f}s)")


def worker(rank, args):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47611", rank=rank, world_size=args.nproc)
    torch.manual_seed(rank)
    net = DDP(VAE())
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    basis = torch.randn(8, 512, generator=torch.Generator().manual_seed(5))
    for ep in range(args.epochs):
        tot = 0.0
        for _ in range(20):
            x = torch.randn(64, 8) @ basis
            r, mu, lv = net(x)
            loss = (r - x).pow(2).mean() - 1e-3 * (1 + lv - mu ** 2 - lv.exp()).mean()
            opt.zero_grad(); loss.backward(); opt.step()
            tot += loss.item()
        if rank == 0:
            print(f"epoch {ep:2d} loss {tot / 20:.4f}", flush=True)
            save(f"{args.workdir}/vae_{ep:03d}.pt", model=net.module.state_dict(), opt=opt.state_dict(), epoch=ep)
        dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--workdir", default=".")
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--nproc", type=int, default=2)
    a = p.parse_args()
    mp.spawn(worker, (a,), nprocs=a.nproc)
    print("done")
