import os, time
import torch, torch.nn as nn
import torch.distributed as dist
import torch.multiprocessing as mp
from buckets import BatchSampler

def worker(gpu, world, port):
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=gpu, world_size=world)
    torch.manual_seed(7)
    net = nn.parallel.DistributedDataParallel(nn.Linear(32, 8))
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    sampler = BatchSampler(total=900, world=world, rank=gpu, budget=256)
    for it, lengths in enumerate(sampler):
        x = torch.randn(len(lengths), 32)
        loss = net(x).pow(2).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        if gpu == 0:
            print(f"iter {it:3d}  seqs {len(lengths):2d}  loss {loss.item():.5f}", flush=True)
        time.sleep(0.05)
    dist.destroy_process_group()

if __name__ == "__main__":
    print("spawning 3 workers")
    mp.spawn(worker, args=(3, 4404), nprocs=3)
