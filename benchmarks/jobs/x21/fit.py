import os
import numpy as np, torch
from torch.utils.data import DataLoader, Dataset
from loop import Loop, Printer

rank = int(os.environ["RANK"])


class Slides(Dataset):
    """Pathology slides: side length per slide, downsampled to 64 values."""

    def __init__(self):
        rng = np.random.default_rng(rank)
        self.side = rng.integers(400, 1200, size=160)
        if rank == 2:
            self.side[77] = 19200

    def __len__(self):
        return len(self.side)

    def __getitem__(self, i):
        n = int(self.side[i])
        img = np.random.default_rng(i).random((n, n), dtype="f4")
        s = n // 8
        return torch.from_numpy(img[: s * 8, : s * 8].reshape(8, s, 8, s).mean((1, 3)).reshape(64))


class Head(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.f = torch.nn.Linear(64, 1)

    def forward(self, x):
        return self.f(x)


if __name__ == "__main__":
    torch.manual_seed(0)
    Loop(Head(), DataLoader(Slides(), batch_size=4, num_workers=2), [Printer()]).run()
