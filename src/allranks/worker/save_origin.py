"""The parts of a manifest about a save's origin: the run, the time, allranks, and the trainer's settings.

A folder that was copied away from its run carries them along.
"""

from __future__ import annotations

import math
import os
import time
from typing import Any, Dict

import allranks

SETTINGS = {
    "micro_batch": "per_device_train_batch_size",
    "accumulation": "gradient_accumulation_steps",
    "max_steps": "max_steps",
    "epochs": "num_train_epochs",
    "learning_rate": "learning_rate",
    "schedule": "lr_scheduler_type",
    "warmup_steps": "warmup_steps",
    "warmup_ratio": "warmup_ratio",
    "optimizer": "optim",
    "weight_decay": "weight_decay",
    "max_grad_norm": "max_grad_norm",
    "seed": "seed",
}
"""Our names, and those of transformers' TrainingArguments. No text of the user's is among them."""


def origin() -> Dict[str, Any]:
    """Of any save: `run` (its id, None outside a run), `allranks`, `saved_at` in seconds since the epoch."""
    return {
        "run": os.environ.get("ALLRANKS_RUN_ID") or None,
        "allranks": allranks.__version__,
        "saved_at": round(time.time(), 3),
    }


def settings(args: Any) -> Dict[str, Any]:
    """The settings of a transformers Trainer, finite numbers and words; any that it does not have are left out."""
    found = {name: plain(getattr(args, theirs, None)) for name, theirs in SETTINGS.items()}
    found["precision"] = next((name for name in ("bf16", "fp16") if getattr(args, name, False)), None)
    return {name: value for name, value in found.items() if value is not None}


def plain(value: Any) -> Any:
    value = getattr(value, "value", value)  # an enum's
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (int, str)) and not isinstance(value, bool) else None
