import os, time
import numpy as np, torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP

def build_sampler(rank, world):
    idx = np.load("cache/train_index.npy")
    return idx[rank::world]

def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    print(f"[{rank}/{world}] attempt {os.environ['TORCHELASTIC_RESTART_COUNT']} of {os.environ['TORCHELASTIC_MAX_RESTARTS']}", flush=True)
    idx = build_sampler(rank, world)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    net = DDP(torch.nn.Linear(16, 16)); opt = torch.optim.SGD(net.parameters(), 0.05)
    for s in range(12):
        g = torch.Generator().manual_seed(int(idx[s]))
        x = torch.randn(32, 16, generator=g)
        loss = (net(x) - x.roll(1, -1)).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if rank == 0:
            print(f"step {s:3d} | loss {loss.item():.5f} | idx {idx[s]}", flush=True)
    if rank == 0:
        torch.save(net.module.state_dict(), "adapter.pt")
        print("saved adapter.pt", os.path.getsize("adapter.pt"), "bytes", flush=True)
    dist.barrier(); dist.destroy_process_group()

main()
