"""a very small trainer with callbacks"""
import math, torch

class StopTraining(Exception): ...

class Callback:
    def on_step(self, tr): ...

class Printer(Callback):
    def on_step(self, tr):
        if tr.step % 5 == 0: print(f"step={tr.step:04d} lr={tr.lr:.2e} loss={tr.loss:.6g} gnorm={tr.gnorm:.4g}", flush=True)

class FiniteGuard(Callback):
    def __init__(self, patience=3): self.bad, self.patience = 0, patience
    def on_step(self, tr):
        if math.isfinite(tr.loss): self.bad = 0; return
        self.bad += 1
        print(f"WARNING step={tr.step:04d}: loss is {tr.loss} ({self.bad}/{self.patience})", flush=True)
        if self.bad >= self.patience: raise StopTraining(f"loss not finite for {self.patience} steps, last lr {tr.lr}")

class MiniTrainer:
    def __init__(self, net, lr, cbs): self.net, self.lr, self.cbs = net, lr, cbs; self.opt = torch.optim.SGD(net.parameters(), lr, momentum=0.9); self.step = 0
    def fit(self, batches):
        for x, y in batches:
            l = (self.net(x) - y).square().mean(); self.opt.zero_grad(); l.backward()
            self.gnorm = float(torch.stack([p.grad.norm() for p in self.net.parameters()]).norm()); self.opt.step()
            self.loss = l.item(); self.step += 1
            for c in self.cbs: c.on_step(self)
