from __future__ import annotations

import json

from tests.checks.case import fires, silent
from tests.checks.cases.script_missing import FILE

COMMAND = {
    "run/gpus/model": "cpu",
    "run/train/kind": "command",
    "run/train/command": ("/opt/train.py", "--deepspeed_config=/opt/ds.json"),
    "run/train/arguments": {},
    FILE: {"exists": True, "text": "print(1)\n"},
}


def _json(config: dict) -> dict:
    return {
        **COMMAND,
        ("*", "storage", "files", "/opt/ds.json"): {"exists": True, "text": json.dumps(config)},
    }


CASES = (
    fires("cpu", _json({"train_micro_batch_size_per_gpu": "auto"}), verdict="block", saw="only transformers"),
    fires("cpu", _json({"train_batch_size": 3, "moe": {"enabled": True}}), verdict="warn", saw="moe"),
    fires(
        "cpu",
        _json({"train_batch_size": 3, "zero_optimization": {"stagee": 3}}),
        verdict="block",
        saw="stagee",
    ),
    silent("cpu", _json({"train_batch_size": 3, "zero_optimization": {"stage": 3, "overlap_comm": True}})),
    silent("cpu", _json({"anything": 1})),
)
