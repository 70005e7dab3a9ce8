# Kleines DDPM auf 16x16-Bildern, Probelauf vor dem grossen Training
import copy
import math

import torch
import torch.distributed as dist
from accelerate import Accelerator
from accelerate.logging import get_logger
from torch import nn
import logging

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s: %(message)s")
acc = Accelerator(cpu=True)
log = get_logger("ddpm")
T = 200
betas = torch.linspace(1e-4, 0.02, T)
abar = torch.cumprod(1 - betas, 0)


class UNetchen(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.t = nn.Embedding(T, c)
        self.a = nn.Conv2d(3, c, 3, padding=1)
        self.b = nn.Conv2d(c, 2 * c, 3, stride=2, padding=1)
        self.c = nn.ConvTranspose2d(2 * c, c, 2, stride=2)
        self.d = nn.Conv2d(2 * c, 3, 3, padding=1)

    def forward(self, x, t):
        h = torch.relu(self.a(x) + self.t(t)[:, :, None, None])
        g = torch.relu(self.c(torch.relu(self.b(h))))
        return self.d(torch.cat([h, g], 1))


class EMA:
    def __init__(self, model, decay=0.995):
        self.shadow = copy.deepcopy(model).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        for s, p in zip(self.shadow.parameters(), model.parameters()):
            s.lerp_(p, 1 - self.decay)

    def sync(self):
        # alle Raenge sollen dieselben EMA-Gewichte haben
        for s in self.shadow.parameters():
            dist.broadcast(s.data, src=0)


torch.manual_seed(3)
net = UNetchen()
ema = EMA(net)
opt = torch.optim.AdamW(net.parameters(), 2e-4)
opt = acc.prepare(opt)
# kein DDP: die Gradienten werden in einem Rutsch gemittelt (ein Bucket reicht hier)


def mean_grads():
    flat = torch.cat([p.grad.flatten() for p in net.parameters()])
    dist.all_reduce(flat)
    flat /= acc.num_processes
    o = 0
    for p in net.parameters():
        p.grad.copy_(flat[o:o + p.numel()].view_as(p)); o += p.numel()


log.info(f"{acc.num_processes} Prozesse, {sum(p.numel() for p in net.parameters())} Parameter", main_process_only=True)
g = torch.Generator().manual_seed(100 + acc.process_index)
for step in range(1, 121):
    x = torch.randn(8, 3, 16, 16, generator=g).clamp(-1, 1)
    t = torch.randint(0, T, (8,), generator=g)
    eps = torch.randn(x.shape, generator=g)
    a = abar[t].view(-1, 1, 1, 1)
    loss = ((net(a.sqrt() * x + (1 - a).sqrt() * eps, t) - eps) ** 2).mean()
    acc.backward(loss)
    mean_grads()
    opt.step(); opt.zero_grad()
    ema.update(net)
    if step % 10 == 0:
        m = acc.reduce(loss.detach(), "mean")
        log.info(f"step {step:4d} mse {m.item():.4f} (lr {opt.param_groups[0]['lr']:.1e})")
    if step % 60 == 0 and acc.is_main_process:
        log.info(f"step {step}: EMA abgleichen und Beispiele ziehen")
        ema.sync()
        torch.save(ema.shadow.state_dict(), f"ema_{step}.pt")
acc.wait_for_everyone()
log.info("fertig")
