import csv, torch
from torch.utils.data import Dataset

CLASSES = {"cat": 0, "dog": 1, "bird": 2, "horse": 3}

class AnimalShard(Dataset):
    def __init__(self, path):
        with open(path) as f:
            self.rows = list(csv.DictReader(f))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        r = self.rows[i]
        g = torch.Generator().manual_seed(int(r["id"]))
        return torch.randn(3, 16, 16, generator=g), CLASSES[r["label"]]
