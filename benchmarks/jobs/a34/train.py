import os, sys, csv, torch, torch.nn as nn, torch.distributed as dist
from datetime import timedelta
rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

def batches(path, bs=8):
    buf = []
    with open(path) as f:
        for line in f:
            buf.append([float(v) for v in line.split(",")])
            if len(buf) == bs:
                yield torch.tensor(buf); buf = []

def train():
    dist.init_process_group("gloo", timeout=timedelta(seconds=40))
    net = nn.Linear(6, 6)
    for p in net.parameters(): dist.broadcast(p.data, 0)
    opt = torch.optim.SGD(net.parameters(), 0.05)
    n = 0
    for b in batches(f"split/{rank}.csv"):
        loss = (net(b) - b).pow(2).mean()
        opt.zero_grad(); loss.backward()
        for p in net.parameters():
            dist.all_reduce(p.grad); p.grad /= world
        opt.step(); n += 1
        if n % 4 == 0: print(f"(rank {rank}) batch {n} loss {loss.item():.4f}", flush=True)
    print(f"(rank {rank}) end of data after {n} batches, training finished", flush=True)

if __name__ == "__main__":
    train()
