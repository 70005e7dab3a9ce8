import os, sys, time
import torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader, DistributedSampler

class Clips(Dataset):
    def __len__(self): return 600
    def __getitem__(self, i):
        time.sleep(0.05)
        return torch.rand(8, 3, 16, 16), i % 5

def init_fn(wid):
    info = torch.utils.data.get_worker_info()
    print(f"rank {os.environ['RANK']} loader worker {wid} up (pid {os.getpid()}, seed {info.seed % 10000})", flush=True)

def main():
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    ds = Clips()
    dl = DataLoader(ds, batch_size=4, sampler=DistributedSampler(ds), num_workers=2, worker_init_fn=init_fn)
    net = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Flatten(), nn.Linear(8*3*256, 5)))
    opt = torch.optim.SGD(net.parameters(), lr=1e-3)
    for n, (v, y) in enumerate(dl):
        loss = nn.functional.cross_entropy(net(v), y)
        opt.zero_grad(); loss.backward(); opt.step()
        if n % 5 == 0:
            print(f"rank {rank} batch {n}/{len(dl)} loss {loss.item():.3f}", flush=True)

if __name__ == "__main__":
    main()
