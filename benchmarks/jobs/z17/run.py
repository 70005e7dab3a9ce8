import collections, os, random, time
import torch, torch.nn as nn
from trainer import Trainer


class Corpus:
    def prepare_data(self, tr):
        """byte pair merges, learned on the raw text (once, on the main process)"""
        if os.path.exists("bpe.pt"):
            return
        random.seed(0)
        words = collections.Counter("".join(random.choices("etaoinshrdlu", k=random.randint(3, 12))) for _ in range(36_000))
        vocab = {tuple(w): c for w, c in words.items()}
        merges, t0 = [], time.time()
        target = 400
        tr.log(msg="prepare_data: learning merges", words=len(vocab), merges=target)
        for n in range(target):
            pairs = collections.Counter()
            for w, c in vocab.items():
                for a, b in zip(w, w[1:]):
                    pairs[a, b] += c
            (a, b), _ = pairs.most_common(1)[0]
            merges.append((a, b))
            new = {}
            for w, c in vocab.items():
                o, i = [], 0
                while i < len(w):
                    if i + 1 < len(w) and w[i] == a and w[i + 1] == b:
                        o.append(a + b); i += 2
                    else:
                        o.append(w[i]); i += 1
                new[tuple(o)] = c
            vocab = new
            if (n + 1) % 25 == 0:
                tr.log(msg="prepare_data", merges_done=n + 1, of=target, elapsed_s=round(time.time() - t0, 1))
        torch.save(merges, "bpe.pt")

    def setup(self, tr):
        self.merges = torch.load("bpe.pt")

    def train_batches(self, epoch, rank, world):
        for _ in range(20):
            yield torch.randint(0, 400, (8, 17))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.o = nn.Embedding(400, 32), nn.Linear(32, 400)

    def training_step(self, b):
        return nn.functional.cross_entropy(self.o(self.e(b[:, :-1])).flatten(0, 1), b[:, 1:].flatten())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 1e-3)


if __name__ == "__main__":
    Trainer(max_epochs=3).fit(Net(), Corpus())
