"""The files of `configs.py`, each as the run files that somebody writes who uses it.

A YAML is a LLaMA-Factory run; its `deepspeed:` names a file of the same repository, in whose place stands a small one
of the same ZeRO stage. A DeepSpeed JSON is two runs: one of LLaMA-Factory, with training arguments and a number of
ranks that follow the JSON (its batch, learning rate and precision), and one of a script that hands it to DeepSpeed.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from allranks import spec
from allranks.core import BadInput
from allranks.node.facts.imports import DEEPSPEED_MARKS
from allranks.spec import Run

HALVES = ("seen", "unseen")
YAML, JSON, SCRIPT = "LLaMA-Factory YAML", "DeepSpeed JSON, LLaMA-Factory", "DeepSpeed JSON, script"
ZERO3 = {
    "train_micro_batch_size_per_gpu": "auto",
    "zero_optimization": {"stage": 3},
    "bf16": {"enabled": "auto"},
}
BASE = {
    "stage": "sft",
    "do_train": True,
    "model_name_or_path": "/models/one",
    "dataset": "data",
    "template": "default",
    "finetuning_type": "lora",
    "lora_target": "q_proj",
    "report_to": "none",
    "max_steps": 1000,
    "warmup_steps": 10,
}
RANKS = 2
MOST_RANKS = 256


@dataclasses.dataclass
class Case:
    """One file: the run that it becomes, or why it becomes none; what the libraries say; what stops it here."""

    path: Path
    kind: str
    asked: dict[str, Any]
    """What `_config_reader.py` is asked."""

    content: list[str]
    """Of the files that are asked about."""

    run: Run | None = None
    json: dict[str, Any] | None = None
    half: str = ""
    bad: str = ""
    said: str | None = None
    stops: list[str] = dataclasses.field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return (self.said is not None) == bool(self.stops)


def found(folder: Path, scratch: Path, half: str | None) -> Iterator[Case]:
    """The files of the asked half, or of both, as cases. What is of neither kind is left out."""
    for number, path in enumerate(sorted(p for p in folder.rglob("*") if p.is_file())):
        content = path.read_bytes()
        its = HALVES[hashlib.sha256(content).digest()[0] % 2]
        if half and half != its:
            continue
        place = scratch / str(number)
        place.mkdir()
        of_kind = {".json": of_json, ".yaml": of_yaml, ".yml": of_yaml}.get(path.suffix)
        for case in of_kind(path, content, place) if of_kind else ():
            case.half = its
            yield case


def of_json(path: Path, content: bytes, place: Path) -> Iterator[Case]:
    config = json.loads(content)
    if not isinstance(config, dict) or not any(mark in config for mark in DEEPSPEED_MARKS):
        return
    (place / "deepspeed.json").write_bytes(content)
    ranks, arguments = following(config)
    (place / "arguments.yaml").write_text(yaml.safe_dump({**BASE, **arguments}))
    trainer = {"llamafactory": str(place / "arguments.yaml")}
    yield made(path, JSON, trainer, config, place, ranks)
    script = {"command": f"{place}/train.py --deepspeed_config={place}/deepspeed.json"}
    yield made(path, SCRIPT, script, config, place, ranks)


def following(config: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    """The ranks and training arguments that this JSON stands beside."""
    told: dict[str, Any] = {}
    ranks, told["per_device_train_batch_size"], told["gradient_accumulation_steps"] = batch(config)
    pairs = {
        "gradient_clipping": "max_grad_norm",
        "optimizer.params.lr": "learning_rate",
        "optimizer.params.eps": "adam_epsilon",
        "optimizer.params.weight_decay": "weight_decay",
        "scheduler.params.warmup_max_lr": "learning_rate",
        "scheduler.params.warmup_num_steps": "warmup_steps",
        "scheduler.params.total_num_steps": "max_steps",
    }
    for key, name in pairs.items():
        value = at(config, key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            told[name] = value
    betas = at(config, "optimizer.params.betas")
    if isinstance(betas, list) and len(betas) == 2:
        told.update(adam_beta1=betas[0], adam_beta2=betas[1])
    precision = [name for name in ("bf16", "fp16") if at(config, f"{name}.enabled") is True]
    wanted = [name for name in ("bf16", "fp16") if at(config, f"{name}.enabled") == "auto"]
    told.update({name: True for name in precision or wanted[:1]})
    return ranks, told


def batch(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """Ranks, samples and micro-steps that make up the JSON's batch; the usual ones where none do."""
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    whole, samples, steps = (v if type(v := config.get(name)) is int and v > 0 else None for name in names)
    if whole is None:
        return RANKS, samples or 1, steps or 1
    for ranks in (RANKS, *range(1, MOST_RANKS + 1)):
        its = samples or whole // (ranks * (steps or 1))
        per = steps or whole // (ranks * its or 1)
        if its and per and ranks * its * per == whole:
            return ranks, its, per
    return RANKS, samples or 1, steps or 1


def at(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def of_yaml(path: Path, content: bytes, place: Path) -> Iterator[Case]:
    values = yaml.safe_load(content)
    if not isinstance(values, dict) or "finetuning_type" not in values:
        return
    config = json.loads(json.dumps(ZERO3)) if "deepspeed" in values else None
    if config is not None:
        config["zero_optimization"]["stage"] = 3 if "3" in str(values["deepspeed"]) else 2
        (place / "deepspeed.json").write_text(json.dumps(config))
    text = content.decode("utf-8", "replace")
    kept = [line for line in text.splitlines() if not line.startswith(("deepspeed:", "output_dir:"))]
    (place / "arguments.yaml").write_text("\n".join(kept) + "\n")
    yield made(path, YAML, {"llamafactory": str(place / "arguments.yaml")}, config, place, RANKS)


def made(
    path: Path, kind: str, train: dict[str, str], config: dict[str, Any] | None, place: Path, ranks: int
) -> Case:
    named = str(place / "deepspeed.json") if config is not None else None
    asked = {
        "yaml": train.get("llamafactory"),
        "deepspeed": named,
        "ranks": ranks,
        "is_plain": kind == JSON,
    }
    files = [Path(name).read_text() if name else "" for name in (asked["yaml"], named)]
    case = Case(path, kind, asked, files, json=config)
    file = place / "run.yaml"
    text = {
        "name": "one",
        "nodes": [{"name": f"node-{n}", "address": f"10.0.{n // 250}.{n % 250 + 1}"} for n in range(ranks)],
        "gpus": {"count": 1, "model": "A100-SXM4-80GB"},
        "environment": {"python": "/opt/env/bin/python"},
        "train": train,
        **({"deepspeed": named or "none"} if kind != SCRIPT else {}),
    }
    file.write_text(yaml.safe_dump(text))
    try:
        case.run = spec.load(file)
    except BadInput as error:
        case.bad = str(error)
    return case
