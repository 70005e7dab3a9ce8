"""Models with code of their own, as users write them, for `loading_worker.py`."""

from __future__ import annotations

import random
from pathlib import Path

import deepspeed
import numpy
import torch
from safetensors.torch import save_file
from torch import nn
from transformers import PretrainedConfig, PreTrainedModel


class Config(PretrainedConfig):
    model_type = "users"


class Plain(PreTrainedModel):
    config_class = Config

    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.body = nn.Linear(64, 33)
        self.add()
        self.post_init()

    def add(self) -> None:
        self.more = nn.Linear(64, 5)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            module.weight.data.fill_(-1)
            module.bias.data.fill_(-1)


class Hidden(Plain):
    """Saves no frozen part with its checkpoints, but loads it from its base."""

    def state_dict(self, *args, **kwargs):
        return {name: one for name, one in super().state_dict(*args, **kwargs).items() if "more" not in name}


class Drawn(Plain):
    """Has a parameter that no file holds, of numbers that numpy and Python draw."""

    def add(self) -> None:
        super().add()
        numbers = numpy.random.randint(0, 100, 6).tolist() + [random.randrange(100) for _ in range(6)]
        self.drawn = nn.Parameter(torch.tensor(numbers, dtype=torch.float32))


class Probe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.probe = nn.Parameter(torch.randn(64))


class Reward(Plain):
    """Draws the values of one module, which the files hold, and has a new head, which they do not."""

    def add(self) -> None:
        super().add()
        self.inner = Probe()
        self.score = nn.Linear(64, 2)


class Filled(nn.Linear):
    def __init__(self) -> None:
        super().__init__(64, 33)
        self.weight.data.fill_(0.5)


class Asking(Plain):
    """Has a parameter that no file holds, whose value it takes from another one while it is built."""

    def add(self) -> None:
        super().add()
        self.body = Filled()
        with deepspeed.zero.GatheredParameters([self.body.weight]):
            self.scale = nn.Parameter(self.body.weight.detach().float().mean().reshape(1).clone())


KINDS = {"hidden": Hidden, "drawn": Drawn, "reward": Reward, "asking": Asking, "odd-type": Plain}


def make(out: Path) -> None:
    for case, kind in KINDS.items():
        folder = out / case
        Config().save_pretrained(folder)
        stored = {
            f"{name}.{part}": torch.randn(*shape)
            for name, rows in (("body", 33), ("more", 5))
            for part, shape in (("weight", (rows, 64)), ("bias", (rows,)))
        }
        if kind is Reward:
            stored["inner.probe"] = torch.randn(64)
        if case == "odd-type":
            stored["unused"] = torch.zeros(4, dtype=torch.uint16)
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
