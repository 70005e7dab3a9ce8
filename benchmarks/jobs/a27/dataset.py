import torch
from torch.utils.data import Dataset

class PairDataset(Dataset):
    """Sentence pairs, packed into one long tensor with offsets."""
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.lengths = torch.randint(3, 20, (n,), generator=g).tolist()
        self.offsets = [0]
        for l in self.lengths:
            self.offsets.append(self.offsets[-1] + l)
        self.data = torch.randint(1, 1000, (self.offsets[-1],), generator=g)

    def __len__(self):
        return len(self.offsets)

    def __getitem__(self, i):
        s = self.data[self.offsets[i]:self.offsets[i] + self.lengths[i]]
        out = torch.zeros(20, dtype=torch.long)
        out[:len(s)] = s
        return out
