"""What a save tells of itself, so that a copy of the folder still says where it is from."""

from __future__ import annotations

import enum
import json
import time
from types import SimpleNamespace

import pytest

import allranks
from allranks.worker import save_origin


class Schedule(str, enum.Enum):
    COSINE = "cosine"


def test_the_run_the_time_and_the_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLRANKS_RUN_ID", "demo-1122-abcd")
    told = save_origin.origin()
    assert (told["run"], told["allranks"]) == ("demo-1122-abcd", allranks.__version__)
    assert abs(told["saved_at"] - time.time()) < 60
    monkeypatch.delenv("ALLRANKS_RUN_ID")
    assert save_origin.origin()["run"] is None


def test_settings_are_numbers_and_words_alone() -> None:
    args = SimpleNamespace(
        per_device_train_batch_size=2,
        learning_rate=1e-4,
        lr_scheduler_type=Schedule.COSINE,
        max_grad_norm=float("inf"),
        seed=object(),
        bf16=True,
        output_dir="/home/me",
    )
    told = save_origin.settings(args)
    assert told == {"micro_batch": 2, "learning_rate": 1e-4, "schedule": "cosine", "precision": "bf16"}
    assert json.loads(json.dumps(told)) == told
