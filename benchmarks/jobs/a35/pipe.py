import os, sys, torch, torch.nn as nn, torch.distributed as dist

HIDDEN = 128
MICRO = 4

class Stage:
    def __init__(self, rank, world):
        self.rank, self.world = rank, world
        torch.manual_seed(rank)
        self.net = nn.Sequential(nn.Linear(HIDDEN, HIDDEN), nn.ReLU())

    def forward(self, x):
        if self.rank > 0:
            x = torch.empty(MICRO, HIDDEN)
            dist.recv(x, self.rank - 1)
        y = self.net(x)
        if self.rank < self.world - 1:
            dist.send(y.detach(), self.rank + 1)
        return y

def micro_batches(n, bs):
    data = torch.randn(n, HIDDEN)
    yield from data.split(bs)

def main():
    dist.init_process_group("gloo")
    rank, world = dist.get_rank(), dist.get_world_size()
    st = Stage(rank, world)
    for step in range(5):
        for m, mb in enumerate(micro_batches(16, int(os.environ.get("MICRO_BATCH", MICRO)))):
            y = st.forward(mb if rank == 0 else None)
            print(f"stage {rank} step {step} micro {m} out {tuple(y.shape)} mean {y.mean():.4f}", flush=True)
    dist.barrier()
main()
