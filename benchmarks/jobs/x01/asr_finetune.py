import argparse
import json
import logging
import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP

log = logging.getLogger("asr")


def load(path):
    with open(path) as f:
        return [json.loads(l) for l in f]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--manifests")
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--bs", type=int, default=4)
    a = p.parse_args()
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    rank = dist.get_rank()
    logging.basicConfig(level=logging.INFO, format=f"%(asctime)s r{rank} %(levelname).1s %(message)s", datefmt="%H:%M:%S")
    torch.manual_seed(1)
    utts = load(os.path.join(a.manifests, f"train.{rank}.jsonl"))
    log.info("train.%d.jsonl: %d utts, %.1f min, longest %.1f s", rank, len(utts), sum(u["dur"] for u in utts) / 60, max(u["dur"] for u in utts))
    model = DDP(nn.Sequential(nn.Linear(80, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 32)))
    opt = torch.optim.AdamW(model.parameters(), lr=a.lr)
    if rank == 0:
        log.info("model: %d parameters, lr %g, %d utterances per step and rank", sum(x.numel() for x in model.parameters()), a.lr, a.bs)
    for epoch in range(2):
        for i in range(0, len(utts), a.bs):
            batch = utts[i:i + a.bs]
            T = int(max(u["dur"] for u in batch) * 100)
            x = torch.randn(len(batch), T, 80)
            y = torch.randint(0, 32, (len(batch), T))
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())
            opt.zero_grad()
            loss.backward()
            opt.step()
            if rank == 0 and (i // a.bs) % 5 == 0:
                log.info("ep %d it %3d/%d loss %.4f", epoch, i // a.bs, (len(utts) + a.bs - 1) // a.bs, loss.item())
    if rank == 0:
        torch.save(model.module.state_dict(), "asr.pt")
        log.info("saved asr.pt")


if __name__ == "__main__":
    main()
