#!/usr/bin/env python3
import argparse
import os
import random

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Tagger(nn.Module):
    """Shared encoder, one head for every task; a batch may hold several tasks."""

    def __init__(self, tasks, d=48):
        super().__init__()
        self.emb = nn.Embedding(3000, d)
        self.rnn = nn.GRU(d, d, batch_first=True, bidirectional=True)
        self.heads = nn.ModuleDict({t: nn.Linear(2 * d, 17) for t in tasks})

    def forward(self, x, tasks):
        h, _ = self.rnn(self.emb(x))
        return {t: self.heads[t](h[i]) for t, i in tasks.items()}


def make_batch(rng, tasks, weights, n=24):
    x = torch.tensor([[rng.randrange(3000) for _ in range(20)] for _ in range(n)])
    names = rng.choices(tasks, weights, k=n)
    return x, {t: torch.tensor([i for i, m in enumerate(names) if m == t]) for t in sorted(set(names))}


def worker(rank, args, tasks):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(args.port))
    dist.init_process_group("gloo", rank=rank, world_size=args.world)
    torch.manual_seed(0)
    net = nn.parallel.DistributedDataParallel(Tagger(tasks))
    opt = torch.optim.Adam(net.parameters(), 1e-3)
    # corpora are split by source, so the task mix is not the same everywhere
    weights = {0: [4, 4, 4], 1: [6, 5, 1.1], 2: [3, 6, 5]}[rank % 3]
    rng = random.Random(20 + rank)
    for step in range(200):
        x, groups = make_batch(rng, tasks, weights)
        out = net(x, groups)
        loss = sum(F.cross_entropy(o.flatten(0, 1), torch.randint(0, 17, (o.shape[0] * o.shape[1],))) for o in out.values())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step < 5 or step % 10 == 0:
            print(f"rank{rank}| step {step} | " + " ".join(f"{t}:{len(i)}" for t, i in groups.items()) + f" | loss {loss.item():.3f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--world", type=int)
    p.add_argument("--port", type=int)
    p.add_argument("--tasks")
    a = p.parse_args()
    tasks = a.tasks.split(",")
    print("tasks", tasks, "on", a.world, "processes")
    mp.spawn(worker, (a, tasks), nprocs=a.world)
