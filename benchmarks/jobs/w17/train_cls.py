import argparse, json, logging, os, time, urllib.request
import torch, torch.distributed as dist, torch.nn as nn

ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int); ap.add_argument("--push"); a = ap.parse_args()
dist.init_process_group("gloo")
r, w = dist.get_rank(), dist.get_world_size()
logging.basicConfig(level=logging.INFO, format=f"[%(levelname)s][{r}] %(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger()


class Push:
    def __init__(self, url): self.url, self.fails = url, 0

    def __call__(self, **kw):
        if self.url is None: return
        try:
            urllib.request.urlopen(urllib.request.Request(self.url, json.dumps(kw).encode()), timeout=2)
        except OSError:
            self.fails += 1
            log.error("could not push metrics to %s", self.url, exc_info=True)
            if self.fails == 2:
                log.warning("metrics push switched off after %d failures, training goes on", self.fails); self.url = None


push = Push(a.push if r == 0 else None)
g = torch.Generator().manual_seed(0)
centers = torch.randn(6, 20, generator=g)
n = [4000, 4000, 4000, 2600][r]
torch.manual_seed(10 + r)
y = torch.randint(0, 6, (n,)); x = centers[y] + 0.6 * torch.randn(n, 20)
log.info("%d training rows", n)
torch.manual_seed(0)
model = nn.parallel.DistributedDataParallel(nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 6)))
opt = torch.optim.Adam(model.parameters(), 2e-3)
yt = torch.randint(0, 6, (3000,)); xt = centers[yt] + 0.6 * torch.randn(3000, 20)
for e in range(a.epochs):
    model.train()
    for b in range(80):
        i = torch.randint(0, n, (64,))
        loss = nn.functional.cross_entropy(model(x[i]), y[i]); opt.zero_grad(); loss.backward(); opt.step()
    log.info("epoch %d train loss %.4f", e, loss.item())
    if r == 0:
        with torch.no_grad():
            acc = (model.module(xt).argmax(-1) == yt).float().mean().item()
        time.sleep(1.0)
        log.info("epoch %d eval accuracy %.4f on 3000 rows", e, acc)
        push(epoch=e, acc=acc)
        torch.save(model.module.state_dict(), "cls.pt")
    dist.barrier()
log.info("finished %d epochs", a.epochs)
if r == 0: log.info("final model in cls.pt (%d bytes), accuracy %.4f", os.path.getsize("cls.pt"), acc)
dist.destroy_process_group()
