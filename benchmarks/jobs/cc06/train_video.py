import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.utils.data import DataLoader, Dataset, DistributedSampler
from tqdm import tqdm


class Clips(Dataset):
    """Decoded clips, T x C x H x W in float. Later clips of the list are the high-resolution ones."""

    def __init__(self, n=160):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        side = 32 if i < 40 else 144
        g = torch.Generator().manual_seed(i)
        return torch.rand(8, 3, side, side, generator=g), i % 5


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--workers", type=int, default=2)
    args = ap.parse_args()
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    ds = Clips()
    loader = DataLoader(ds, batch_size=4, sampler=DistributedSampler(ds, shuffle=False), num_workers=args.workers, prefetch_factor=3)
    net = nn.Sequential(nn.Conv3d(3, 8, 3, stride=2), nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(8, 5))
    net = nn.parallel.DistributedDataParallel(net)
    opt = torch.optim.SGD(net.parameters(), 0.01)
    bar = tqdm(loader, desc=f"train[{rank}]", mininterval=1.0)
    for x, y in bar:
        loss = nn.functional.cross_entropy(net(x.transpose(1, 2)), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        bar.set_postfix(loss=f"{loss.item():.3f}", side=x.shape[-1])
    dist.barrier()
    print(f"rank {rank}: epoch done")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
