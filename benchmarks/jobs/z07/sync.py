import torch, torch.distributed as dist


class SkipMeter:
    """counts unusable utterances; the totals are merged over all ranks when the meter is full"""
    def __init__(self, every=25):
        self.every, self.seen, self.bad = every, 0, 0

    def update(self, n_bad):
        self.bad += n_bad
        self.seen += 1
        if self.bad >= self.every:
            self.merge()

    def merge(self):
        t = torch.tensor([self.bad, self.seen], dtype=torch.int64)
        dist.all_reduce(t)
        print(f"[meter] {t[0].item()} of {t[1].item() * 16} utterances skipped so far on all ranks", flush=True)
        self.bad = self.seen = 0


def average_gradients(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()
