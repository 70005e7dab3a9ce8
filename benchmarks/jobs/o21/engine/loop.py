import math, time
class Loop:
    def __init__(self, model, opt, data, hooks=()): self.model, self.opt, self.data, self.hooks = model, opt, data, hooks
    def run(self, steps):
        t = time.time()
        for step in range(steps):
            loss = self.model.loss(*next(self.data)); v = loss.item()
            if not math.isfinite(v): raise FloatingPointError(f"loss is {v} at step {step}")
            self.opt.zero_grad(); loss.backward(); self.opt.step()
            for h in self.hooks: h(step, v, time.time() - t)
