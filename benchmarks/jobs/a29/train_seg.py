import os, torch, torch.nn as nn, torch.distributed as dist
from torch.utils.data import Dataset, DataLoader, DistributedSampler
from tqdm import tqdm

class Tiles(Dataset):
    def __init__(self, n, size): self.n, self.size = n, size
    def __len__(self): return self.n
    def __getitem__(self, i):
        img = torch.rand(3, self.size, self.size)
        return img, (img.mean(0) > 0.5).long()

def main():
    dist.init_process_group("gloo"); rank = dist.get_rank()
    ds = Tiles(400, 320)
    dl = DataLoader(ds, batch_size=8, num_workers=2, prefetch_factor=4, sampler=DistributedSampler(ds))
    net = nn.parallel.DistributedDataParallel(nn.Conv2d(3, 2, 1)); opt = torch.optim.Adam(net.parameters())
    for x, y in tqdm(dl, desc=f"rank{rank}", position=rank):
        loss = nn.functional.cross_entropy(net(x), y); opt.zero_grad(); loss.backward(); opt.step()
    print("mIoU eval comes next")
main()
