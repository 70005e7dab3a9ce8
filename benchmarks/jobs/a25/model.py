import torch.nn as nn

class TwoHead(nn.Module):
    """Shared trunk, a main head and an auxiliary head for the warm-up phase."""
    def __init__(self, d=40):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(d, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 7)
        self.aux_head = nn.Linear(64, 3)

    def forward(self, x, warmup=False):
        h = self.trunk(x)
        return self.head(h), (self.aux_head(h) if warmup else None)
