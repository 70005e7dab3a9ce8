from __future__ import annotations

import json

from tests.checks.case import Remove, fires, silent
from tests.checks.cases.script_missing import FILE

COMMAND = {
    "run/gpus/model": "cpu",
    "run/train/kind": "command",
    "run/train/arguments": {},
    FILE: {"exists": True, "text": "print(1)\n"},
}


def _json(config: dict, flag: str = "--deepspeed_config", **more) -> dict:
    return {
        **COMMAND,
        "run/train/command": ("/opt/train.py", f"{flag}=/opt/ds.json"),
        ("*", "storage", "files", "/opt/ds.json"): {"exists": True, "text": json.dumps(config)},
        "*/imports/configuration": Remove,
        **more,
    }


ACCEPTED = {"*/imports/configuration": {"digest": "", "answer": {"refused": False, "skipped": {}}}}
NESTED = {"train_batch_size": 3, "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}
STAGEE = {"train_batch_size": 3, "zero_optimization": {"stagee": 3}}

ZERO_ONE = {"train_batch_size": 3, "optimizer": {"type": "ZeroOneAdam"}, "zero_optimization": {"stage": 1}}


def _trainer(config: dict, *words: str) -> dict:
    told = _json(config, "--deepspeed", **ACCEPTED)
    return {**told, "run/train/command": ("/opt/train.py", "--deepspeed", "/opt/ds.json", *words)}


MICRO = {"train_micro_batch_size_per_gpu": 1, "optimizer": {"type": "AdamW", "params": {"lr": 1e-4}}}

CASES = (
    # transformers compares what both name, and raises ValueError.
    fires(
        "cpu",
        _trainer(MICRO, "--per_device_train_batch_size", "2"),
        verdict="block",
        saw="train_micro_batch_size_per_gpu 1 against per_device_train_batch_size 2",
    ),
    fires(
        "cpu", _trainer(MICRO, "--learning_rate=2e-4"), verdict="block", saw="against learning_rate 0.0002"
    ),
    silent("cpu", _trainer(MICRO, "--per_device_train_batch_size", "1", "--learning_rate=1e-4")),
    # The script's own defaults are not known.
    silent("cpu", _trainer(MICRO, "--output_dir", "x")),
    silent(
        "cpu",
        _trainer({**MICRO, "train_micro_batch_size_per_gpu": "auto"}, "--per_device_train_batch_size=2"),
    ),
    fires(
        "cpu",
        _trainer(
            {"train_batch_size": 5}, "--per_device_train_batch_size=1", "--gradient_accumulation_steps=1"
        ),
        verdict="block",
        saw="train_batch_size 5 against",
    ),
    # DeepSpeed 0.16.9 takes the configuration, and its engine refuses the optimizer under ZeRO.
    fires(
        "cpu", _json(ZERO_ONE, "--deepspeed", **ACCEPTED), verdict="block", saw="optimizer.type: ZeroOneAdam"
    ),
    fires("cpu", _json(ZERO_ONE, **ACCEPTED), verdict="warn", saw="optimizer.type: ZeroOneAdam"),
    silent("cpu", _json({**ZERO_ONE, "zero_optimization": {"stage": 0}}, **ACCEPTED)),
    silent("cpu", _json({**ZERO_ONE, "optimizer": {"type": "AdamW"}}, **ACCEPTED)),
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
    fires("cpu", _json(NESTED), verdict="block", saw="optimizer.params.lr: only transformers"),
    # DeepSpeed takes its default.
    silent("cpu", _json({"train_batch_size": 3, "zero_optimization": {"reduce_bucket_size": "auto"}})),
    # What an unknown argument of a script does with the file, nobody knows.
    fires("cpu", _json(NESTED, "--config"), verdict="warn", saw="only transformers"),
    # It is transformers' own argument, and it fills these in.
    silent("cpu", _json(NESTED, "--deepspeed")),
    # DeepSpeed itself was asked, and takes it.
    silent("cpu", _json(STAGEE, **ACCEPTED)),
    fires("cpu", _json(STAGEE, "--config", **ACCEPTED), verdict="block", saw="stagee"),
    fires("cpu", _json(NESTED, **ACCEPTED), verdict="block", saw="optimizer.params.lr: only transformers"),
)
