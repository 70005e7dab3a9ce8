import logging
import os

import torch
import torch.distributed as dist

R = int(os.environ["RANK"])
logging.basicConfig(level=logging.INFO, format=f"%(levelname)s rank={R} %(message)s")
log = logging.getLogger("seg")


class Tracker:
    """keeps the best dice, early stopping with patience"""

    def __init__(self, patience):
        self.best, self.bad, self.patience = -1.0, 0, patience

    def update(self, v):
        if v > self.best + 1e-3:
            self.best, self.bad = v, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def average_grads(model):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= dist.get_world_size()


def local_dice(model, x, y):
    with torch.no_grad():
        p = (model(x) > 0).float()
        return (2 * (p * y).sum() / (p.sum() + y.sum() + 1e-6)).item()


def main():
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
    w = torch.randn(32, 8)
    g = torch.Generator().manual_seed(100 + R)
    x = torch.randn(900, 32, generator=g)
    noise = 0.3 if R != 1 else 30.0      # site 1 is the old scanner, noisy masks
    y = ((x @ w + noise * torch.randn(900, 8, generator=g)) > 0).float()
    xv, yv, x, y = x[:200], y[:200], x[200:], y[200:]
    opt = torch.optim.Adam(model.parameters(), 3e-3)
    tr = Tracker(patience=3)
    log.info("site data %s, val %s", tuple(x.shape), tuple(xv.shape))
    for ep in range(40):
        for i in range(0, len(x), 100):
            loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x[i:i + 100]), y[i:i + 100])
            opt.zero_grad(); loss.backward(); average_grads(model); opt.step()
        d = local_dice(model, xv, yv)
        log.info("epoch %d loss %.4f dice %.4f best %.4f", ep, loss.item(), d, tr.best)
        if tr.update(d):
            log.info("no improvement for %d epochs, stop and gather the final scores", tr.patience)
            break
    scores = [torch.zeros(2) for _ in range(dist.get_world_size())]
    dist.all_gather(scores, torch.tensor([tr.best, float(ep)]))
    if R == 0:
        log.info("final %s", torch.stack(scores).tolist())
    dist.destroy_process_group()


main()
