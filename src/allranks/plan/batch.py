"""The number of samples per step, and the advice on the learning rate if that number changes between two runs.

For SGD the learning rate grows with the batch (Goyal et al. 2017, arXiv:1706.02677, with a warm-up); for Adam and
RMSprop it grows with the square root of the batch (Malladi et al. 2022, arXiv:2205.10287). For other optimizers
allranks has no rule.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from allranks.core import NOTE, Finding
from allranks.core.untrusted import integer, number
from allranks.plan.setting import setting_of
from allranks.spec import Run

DEFAULT_RATE = 5e-5
"""transformers 5.6, `training_args.py`: `learning_rate`."""


@dataclass(frozen=True)
class Batch:
    """The batch of one optimizer step: `samples` = ranks × `micro_batch` × `accumulation`."""

    world_size: int
    micro_batch: int
    accumulation: int
    learning_rate: float
    optimizer: str

    @property
    def samples(self) -> int:
        return self.world_size * self.micro_batch * self.accumulation

    def as_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        ranks = f"{self.world_size} rank" + ("" if self.world_size == 1 else "s")
        return f"{self.samples:,} samples ({ranks} × {self.micro_batch} × {self.accumulation})"


def batch_of(run: Run) -> Batch | None:
    """The run's batch; None for the user's own script, since only the script knows it."""
    setting = setting_of(run)
    if not setting.known:
        return None
    rate = number_of(run.train.arguments.get("learning_rate"))
    return Batch(
        run.cluster.world_size,
        setting.micro_batch,
        setting.accumulation,
        DEFAULT_RATE if rate is None else rate,
        setting.optimizer,
    )


def number_of(value: Any) -> float | None:
    """The number, also if YAML reads it as a text (`1e-4`); None if it is not a number."""
    try:
        return number(float(value)) if isinstance(value, (int, float, str)) else None
    except (ValueError, OverflowError):
        return None


def batch_from_json(data: Any) -> Batch | None:
    """The Batch that `as_json` wrote; None for any other data."""
    if not isinstance(data, Mapping):
        return None
    sizes = [integer(data.get(name)) for name in ("world_size", "micro_batch", "accumulation")]
    rate = number(data.get("learning_rate"))
    if any(size is None or size < 1 for size in sizes) or rate is None:
        return None
    world, micro, accumulation = (int(size or 1) for size in sizes)
    return Batch(world, micro, accumulation, rate, str(data.get("optimizer")))


def advice(run: Run, now: Batch, before: Batch, run_id: str) -> Finding | None:
    """A note if a step sees another number of samples than in the run before, at the same learning rate."""
    if now.samples == before.samples or now.learning_rate != before.learning_rate or not now.learning_rate:
        return None
    factor = now.samples / before.samples
    ways = [way for way in (keeping(now, before), scaling(now, factor)) if way]
    return Finding(
        id="batch-changed",
        verdict=NOTE,
        where=run.where("train.llamafactory"),
        saw=f"a step sees {now}; in {run_id} it saw {before}, at the same learning rate {now.learning_rate:g}",
        expected="the same number of samples per step, or a learning rate for the new one",
        why="there are fewer steps over the same data, and at the old rate they learn less from it."
        if factor > 1
        else "each step follows fewer samples: at the old rate it is noisier and may diverge.",
        fix="; or ".join(ways) or "try two learning rates for a few hundred steps and keep the better one",
    )


def keeping(now: Batch, before: Batch) -> str:
    """The accumulation that keeps the samples of a step, if there is one."""
    micro_step = now.world_size * now.micro_batch
    if before.samples % micro_step:
        return ""
    return f"gradient_accumulation_steps: {before.samples // micro_step} keeps {before.samples:,} samples per step"


def scaling(now: Batch, factor: float) -> str:
    """The learning rate that the rule for this optimizer gives."""
    name = now.optimizer.lower()
    if "adam" in name or "rmsprop" in name:
        rate, rule = now.learning_rate * math.sqrt(factor), "the square root of the batch's change, for Adam"
        source = "Malladi et al. 2022"
    elif name == "sgd":
        rate, rule = now.learning_rate * factor, "the batch's change, for SGD, after a warm-up"
        source = "Goyal et al. 2017"
    else:
        return ""
    return f"learning_rate: {rate:.3g} ({rule}: {source})"
