import torch
from torch import nn


class Ranker(nn.Module):
    def __init__(self, d=64, h=192):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(d, h), nn.GELU(), nn.Linear(h, h), nn.GELU())
        self.out = nn.Linear(h, 1)

    def forward(self, x):
        return self.out(self.enc(x)).squeeze(-1)


def batch(step, n=64, d=64):
    g = torch.Generator().manual_seed(step)
    x = torch.randn(n, d, generator=g)
    y = (x[:, :8].sum(1) > 0).float()
    return x, y
