import argparse
import os
import platform

import torch
import torch.distributed as dist
import yaml


def merge(a, b):
    for k, v in b.items():
        a[k] = merge(a.get(k, {}), v) if isinstance(v, dict) else v
    return a


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.rank = dist.get_rank()
        torch.manual_seed(cfg["seed"] * 100 + self.rank)
        self.say(f"host={platform.node()[:4]} seed={cfg['seed'] * 100 + self.rank} rows={cfg['data']['rows'][self.rank]}")
        self.build()

    def say(self, m):
        print(f"(trainer:{self.rank}) {m}", flush=True)

    def build(self):
        m = self.cfg["model"]
        layers = [torch.nn.Linear(16, m["width"])]
        for _ in range(m["depth"]):
            layers += [torch.nn.GELU(), torch.nn.Linear(m["width"], m["width"])]
        self.net = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
        if self.rank == 0:
            self.say(f"{sum(p.numel() for p in self.net.parameters())} parameters")
            self.say(f"config: {self.cfg}")
        o = self.cfg["optim"]
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=o["lr"], weight_decay=o["weight_decay"])

    def fit(self):
        for s in range(50):
            loss = self.net(torch.randn(32, 16)).pow(2).mean()
            loss.backward()
            self.opt.step()
            self.opt.zero_grad()
        self.say(f"final {loss.item():.4f}")


ap = argparse.ArgumentParser()
ap.add_argument("--config")
ap.add_argument("--override")
a = ap.parse_args()
dist.init_process_group("gloo")
cfg = merge(yaml.safe_load(open(a.config)), yaml.safe_load(open(a.override)))
Trainer(cfg).fit()
dist.destroy_process_group()
