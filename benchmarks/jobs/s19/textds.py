import os, random, re, resource, torch
DOMAIN = re.compile(r"^(([a-z]+)-?)+\.org$")


class Pages(torch.utils.data.Dataset):
    """cleans on the fly in the loader's workers; a worker has a CPU allowance so that it cannot hog a shared node"""
    def __init__(self, part, n=4000, allowance=5):
        rng = random.Random(part)
        self.allowance, self.limited = allowance, False
        self.text = ["".join(rng.choice("abcde") for _ in range(rng.randint(6, 14))) + ".org" for _ in range(n)]
        if part == 1:
            for k in range(n // 5, n, 7): self.text[k] = "a" * 28 + "!"      # shouting in the forum part
        self.y = [rng.randrange(2) for _ in range(n)]

    def __len__(self): return len(self.text)

    def __getitem__(self, i):
        if not self.limited and torch.utils.data.get_worker_info() is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (self.allowance, self.allowance)); self.limited = True
        t = self.text[i]
        t = t[:-4] if DOMAIN.match(t) else t
        ids = [ord(c) % 100 for c in t][:32]
        return {"input_ids": ids + [0] * (32 - len(ids)), "labels": self.y[i]}
