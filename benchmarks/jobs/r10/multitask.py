import argparse, json, sys, time, traceback
import torch, torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(32, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU())
        self.price = nn.Linear(96, 1)
        self.churn = nn.Sequential(nn.Linear(96, 32), nn.SiLU(), nn.Linear(32, 2))

    def forward(self, x, tasks):
        h = self.trunk(x)
        return {t: getattr(self, t)(h) for t in tasks}


def emit(**kw):
    print(json.dumps({"t": round(time.time() - T0, 2), "rank": dist.get_rank(), **kw}), flush=True)


def run(a):
    torch.manual_seed(1)
    model = DDP(MultiTask())
    opt = torch.optim.AdamW(model.parameters(), 2e-3)
    for s in range(a.steps):
        # the churn labels are noisy: joint training first, price alone afterwards
        tasks = ["price", "churn"] if s < a.warmup else ["price"]
        g = torch.Generator().manual_seed(s * 7 + dist.get_rank())
        x = torch.randn(64, 32, generator=g)
        o = model(x, tasks)
        loss = nn.functional.mse_loss(o["price"][:, 0], x[:, :4].sum(1))
        if "churn" in o:
            loss = loss + .3 * nn.functional.cross_entropy(o["churn"], (x[:, 0] > 0).long())
        opt.zero_grad(); loss.backward(); opt.step()
        emit(event="step", step=s, tasks=tasks, loss=round(loss.item(), 4))


if __name__ == "__main__":
    T0 = time.time()
    ap = argparse.ArgumentParser(); ap.add_argument("--warmup", type=int); ap.add_argument("--steps", type=int)
    a = ap.parse_args()
    dist.init_process_group("gloo")
    emit(event="start", args=vars(a))
    try:
        run(a)
        emit(event="end", status="done")
    except Exception as e:
        emit(event="exception", type=type(e).__name__, text=traceback.format_exc())
        emit(event="flush", queue=0)
        emit(event="memory", rss_pages=int(open("/proc/self/statm").read().split()[1]))
        emit(event="end", status="aborted")
        sys.exit(13)
    dist.destroy_process_group()
