import torch
SPLITS = {0: 200, 1: 200, 2: 168, 3: 200}
def load_split(r):
    g = torch.Generator().manual_seed(r); x = torch.randn(SPLITS[r], 12, generator=g)
    return x, x[:, :3].argmax(1)
