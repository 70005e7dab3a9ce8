import os, sys, torch, torch.distributed as dist, torch.multiprocessing as mp
import torch.nn as nn
from datetime import timedelta

class EarlyStopping:
    def __init__(self, patience): self.patience, self.best, self.bad = patience, 1e9, 0
    def step(self, v):
        if v < self.best - 0.05: self.best, self.bad = v, 0
        else: self.bad += 1
        return self.bad >= self.patience

def fit(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="4103")
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=30))
    say = lambda m: print(f"({rank}) {m}", flush=True)
    torch.manual_seed(1)
    m = nn.parallel.DistributedDataParallel(nn.Linear(16, 1)); opt = torch.optim.Adam(m.parameters(), 3e-2)
    X = torch.randn(256, 16, generator=torch.Generator().manual_seed(rank)); Y = X.sum(1, keepdim=True) * .1
    stopper = EarlyStopping(2)
    say(f"samples: {len(X)}")
    for epoch in range(30):
        tot = 0
        for xb, yb in zip(X.split(32), Y.split(32)):
            l = (m(xb) - yb).pow(2).mean(); opt.zero_grad(); l.backward(); opt.step(); tot += l.item()
        say(f"epoch {epoch} train_mse {tot/8:.4f}")
        if rank == 0:
            val = (m.module(X[:64]) - Y[:64]).pow(2).mean().item()
            say(f"epoch {epoch} val_mse {val:.4f} best {stopper.best:.4f} bad_epochs {stopper.bad}")
            if stopper.step(val):
                say("no improvement, stopping early")
                torch.save(m.module.state_dict(), "best.pt")
                return
    dist.barrier()

if __name__ == "__main__":
    mp.spawn(fit, (3,), nprocs=3)
