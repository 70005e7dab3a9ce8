import argparse
import logging
import math

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

log = get_logger("multitask", log_level="INFO")


class SensorNet(nn.Module):
    """Gemeinsamer Encoder, zwei Koepfe: Fehlerklasse und Restlebensdauer."""

    def __init__(self, d_in=48, d=96, n_cls=7):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(d_in, d), nn.GELU(), nn.LayerNorm(d), nn.Linear(d, d), nn.GELU())
        self.cls_head = nn.Linear(d, n_cls)
        self.rul_head = nn.Sequential(nn.Linear(d, d // 2), nn.GELU(), nn.Linear(d // 2, 1))

    def forward(self, x, with_aux=True):
        h = self.encoder(x)
        logits = self.cls_head(h)
        rul = self.rul_head(h).squeeze(-1) if with_aux else None
        return logits, rul


def synth(n, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 48, generator=g)
    w = torch.randn(48, 7, generator=g)
    y = (x @ w).argmax(-1)
    r = x[:, :5].abs().sum(-1)
    return TensorDataset(x, y, r)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--bs", type=int, default=32)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--aux-weight", type=float, default=0.3)
    args = ap.parse_args()

    logging.basicConfig(format="%(asctime)s %(levelname).1s %(name)s | %(message)s", level=logging.INFO)
    acc = Accelerator()
    set_seed(13)
    log.info("world=%d device=%s aux_weight=%.2f", acc.num_processes, acc.device, args.aux_weight)

    train = DataLoader(synth(2048, 1), batch_size=args.bs, shuffle=True)
    model = SensorNet()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, opt, train = acc.prepare(model, opt, train)
    log.info("Parameter: %.1fk, Schritte je Epoche: %d", sum(p.numel() for p in model.parameters()) / 1e3, len(train))

    ce, l1 = nn.CrossEntropyLoss(), nn.SmoothL1Loss()
    step = 0
    for ep in range(args.epochs):
        model.train()
        for x, y, r in train:
            logits, rul = model(x, with_aux=args.aux_weight > 0)
            loss = ce(logits, y)
            if rul is not None:
                loss = loss + args.aux_weight * l1(rul, r)
            acc.backward(loss)
            opt.step()
            opt.zero_grad()
            step += 1
            if step % 10 == 1:
                log.info("ep %d step %d loss %.4f ppl %.2f", ep, step, loss.item(), math.exp(min(20, loss.item())))
    acc.wait_for_everyone()
    acc.save_state("out")


if __name__ == "__main__":
    main()
