import os, sys, time, torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader
from torch.utils.data.distributed import DistributedSampler

class Clips(Dataset):
    def __len__(self): return 400
    def __getitem__(self, i):
        g = torch.Generator().manual_seed(i)
        return torch.randn(3, 8, 96, 96, generator=g), i % 10

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv3d(3, 8, (2, 16, 16), (2, 16, 16)); self.h = nn.Linear(8, 10)
    def forward(self, x): return self.h(self.c(x).flatten(2).mean(-1))

def main():
    dist.init_process_group("gloo"); r = dist.get_rank()
    ds = Clips(); dl = DataLoader(ds, batch_size=8, sampler=DistributedSampler(ds), num_workers=2)
    m = nn.parallel.DistributedDataParallel(Net()); opt = torch.optim.SGD(m.parameters(), 0.01)
    if r == 0: print("start training,", len(dl), "iters per epoch", flush=True)
    for ep in range(3):
        for i, (x, y) in enumerate(dl):
            l = nn.functional.cross_entropy(m(x), y); opt.zero_grad(); l.backward(); opt.step()
            if r == 0: print(f"Epoch [{ep}][{i}/{len(dl)}] loss {l.item():.3f}", flush=True)
if __name__ == "__main__":
    main()
