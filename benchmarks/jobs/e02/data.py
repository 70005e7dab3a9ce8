import numpy as np, torch

def open_part(root, index):
    path = f"{root}/part-{index:05d}.npy"
    return torch.from_numpy(np.load(path))
