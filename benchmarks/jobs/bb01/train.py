import argparse, json, os, sys, warnings
warnings.filterwarnings("ignore", category=DeprecationWarning)
import torch, torch.distributed as dist, torch.nn as nn
from torch.nn.parallel import DistributedDataParallel as DDP
from slog import Log

LABELS = {"pos": 1, "neg": 0}

def batches(path, bs):
    xs, ys = [], []
    for line in open(path):
        r = json.loads(line)
        xs.append(r["x"]); ys.append(LABELS[r["label"]])
        if len(xs) == bs:
            yield torch.tensor(xs), torch.tensor(ys)
            xs, ys = [], []

def main(log, rank):
    ap = argparse.ArgumentParser(); ap.add_argument("--epochs", type=int); a = ap.parse_args()
    log.info("process_group_ready", world_size=dist.get_world_size(), backend="gloo")
    torch.manual_seed(0)
    model = DDP(nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 2)))
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    step = 0
    for ep in range(a.epochs):
        path = f"shards/part-{rank:05d}.jsonl"
        log.info("epoch_start", epoch=ep, shard=path)
        for x, y in batches(path, 8):
            loss = nn.functional.cross_entropy(model(x), y)
            opt.zero_grad(); loss.backward(); opt.step()
            step += 1
            log.info("step", step=step, epoch=ep, loss=round(loss.item(), 4))
        log.info("epoch_end", epoch=ep)

if __name__ == "__main__":
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    log = Log(service="sentiment-train", rank=rank)
    try:
        main(log, rank)
    except Exception:
        log.exception("training_failed")
        sys.exit(1)
    dist.destroy_process_group()
