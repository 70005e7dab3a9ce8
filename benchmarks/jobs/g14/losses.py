import torch
def contrastive(a, b, t=0.1):
    a, b = torch.nn.functional.normalize(a, dim=-1), torch.nn.functional.normalize(b, dim=-1)
    lg = a @ b.T / t; y = torch.arange(len(a))
    return (torch.nn.functional.cross_entropy(lg, y) + torch.nn.functional.cross_entropy(lg.T, y)) / 2
