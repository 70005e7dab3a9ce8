import torch

class TextData:
    def __init__(self, path, bs):
        self.lines = [l.rstrip("\n") for l in open(path)]; self.bs = bs
    def summary(self):
        n = [len(l) for l in self.lines]
        return f"{len(n)} lines, chars min {min(n)} median {sorted(n)[len(n)//2]} max {max(n)}"
    def __len__(self): return len(self.lines) // self.bs
    def __iter__(self):
        for i in range(len(self)):
            part = self.lines[i*self.bs:(i+1)*self.bs]
            m = max(map(len, part))
            x = torch.zeros(self.bs, m, dtype=torch.uint8)
            for k, l in enumerate(part): x[k, :len(l)] = torch.frombuffer(bytearray(l.encode()), dtype=torch.uint8)
            yield x
