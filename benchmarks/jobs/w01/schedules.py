import math
from torch.optim.lr_scheduler import LambdaLR


def _cosine(c):
    w, t = c["warmup_steps"], c["total_steps"]
    return lambda s: s / max(1, w) if s < w else 0.5 * (1 + math.cos(math.pi * (s - w) / (t - w)))


def _linear(c):
    w, t = c["warmup_steps"], c["total_steps"]
    return lambda s: s / max(1, w) if s < w else max(0.0, (t - s) / (t - w))


REGISTRY = {"cosine": _cosine, "linear": _linear, "constant": lambda c: (lambda s: 1.0)}


def make_schedule(opt, c):
    name = c["schedule"]
    if name not in REGISTRY:
        raise ValueError(f"optim.schedule: unknown value {name!r}, expected one of {sorted(REGISTRY)}")
    return LambdaLR(opt, REGISTRY[name](c))
