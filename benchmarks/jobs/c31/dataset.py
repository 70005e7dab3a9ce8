import torch
from fasttok import count
def load(n=64):
    texts = ["a b c " * (i % 7 + 1) for i in range(n)]
    return torch.tensor([[float(count(t))] for t in texts])
