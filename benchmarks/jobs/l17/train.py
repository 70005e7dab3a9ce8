import glob, time, mmap
import torch, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader
class MMapShards(Dataset):
    """lazy: a shard is opened at its first access and kept"""
    def __init__(self, pattern):
        self.paths = sorted(glob.glob(pattern)); self.files = {}
    def __len__(self): return len(self.paths) * 4
    def __getitem__(self, i):
        p = self.paths[i // 4]
        if p not in self.files:
            self.files[p] = open(p, "rb")
        f = self.files[p]; f.seek((i % 4) * 16)
        return torch.tensor(list(f.read(16)), dtype=torch.float32) / 255
dist.init_process_group("gloo"); rank = dist.get_rank()
ds = MMapShards("shards/*.bin")
dl = DataLoader(ds, batch_size=8, sampler=torch.utils.data.DistributedSampler(ds, shuffle=True, seed=rank))
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(16, 16))
opt = torch.optim.SGD(net.parameters(), 0.1)
for ep in range(3):
    for i, x in enumerate(dl):
        loss = (net(x) - x).pow(2).mean(); loss.backward(); opt.step(); opt.zero_grad()
        if rank == 0 and i % 5 == 0: print(f"epoch {ep} it {i}/{len(dl)} loss {loss.item():.4f}", flush=True)
