import argparse, os
from datetime import timedelta
import torch, torch.multiprocessing as mp, torch.distributed as dist


class Trainer:
    def __init__(self, rank, world, resume):
        self.rank, self.world = rank, world
        dist.init_process_group("gloo", init_method="tcp://127.0.0.1:47919", rank=rank, world_size=world, timeout=timedelta(seconds=30))
        print(f"[Trainer {rank}] loading {resume}/expert_{rank}.pth ({os.path.getsize(f'{resume}/expert_{rank}.pth')} bytes)", flush=True)
        ck = torch.load(f"{resume}/expert_{rank}.pth", map_location="cpu", weights_only=True)
        self.w, self.it = ck["expert"].requires_grad_(), ck["iter"]

    def fit(self, n):
        for i in range(self.it, self.it + n):
            x = torch.randn(8, 256)
            y = (x @ self.w).tanh()
            dist.all_reduce(y.detach())
            y.mean().backward()
            if self.rank == 0:
                print(f"[Trainer 0] iter {i} out {y.mean().item():.4f}", flush=True)


def run(rank, world, resume):
    Trainer(rank, world, resume).fit(20)


if __name__ == "__main__":
    ap = argparse.ArgumentParser(); ap.add_argument("--resume"); a = ap.parse_args()
    ctx = mp.spawn(run, args=(3, a.resume), nprocs=3, join=True)
