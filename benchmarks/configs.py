"""Configurations from elsewhere: what the installed libraries refuse and accept, against what stops a launch.

    make bench-configs CONFIGS=FOLDER [HALF=seen]

FOLDER holds LLaMA-Factory's YAMLs and DeepSpeed's JSONs, at any depth; which ones were measured stands in
`benchmarks/corpora/`. HALF is `seen` or `unseen`: one half by content, or both if it is not set. PYTHONS names the
environments, with `:` between them; by default this one and `.venvs/legacy`, if that is there.

The other side of the comparison is `_config_reader.py`, which holds nothing of ours. A JSON is read together with
training arguments that follow it (its batch, learning rate and precision), as somebody does who uses it.
"""

from __future__ import annotations

import collections
import dataclasses
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from allranks import checks, spec
from allranks.core import BadInput, Facts
from allranks.node.facts.imports import TRIAL
from allranks.plan import library_trial, make_plan
from allranks.spec import Run

TITLE = "Configurations from elsewhere: refused by the libraries, stopped here"
ON_REQUEST = True

HERE = Path(__file__).resolve().parent
SECONDS = 1500.0
MARKS = (
    "zero_optimization",
    "train_micro_batch_size_per_gpu",
    "train_batch_size",
    "gradient_accumulation_steps",
)
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
PACKAGES = ["torch", "llamafactory", "transformers", "deepspeed", "peft", "accelerate"]
VERSIONS = f"import importlib.metadata as m, json; print(json.dumps({{n: m.version(n) for n in {PACKAGES}}}))"


@dataclasses.dataclass
class Case:
    """One file: the run that it becomes, or why it becomes none; what the libraries say; what stops it here."""

    path: Path
    kind: str
    asked: dict[str, Any]
    run: Run | None = None
    json: dict[str, Any] | None = None
    bad: str = ""
    said: str | None = None
    stops: list[str] = dataclasses.field(default_factory=list)

    @property
    def agrees(self) -> bool:
        return (self.said is not None) == bool(self.stops)


def measure() -> str:
    folder = os.environ.get("CONFIGS")
    if not folder:
        return "No configurations: `make bench-configs CONFIGS=FOLDER`."
    rows = [
        "| libraries | files | refused, stopped | refused, silent | accepted, stopped | accepted, silent |"
    ]
    rows.append("|---|---|---|---|---|---|")
    trouble = []
    for python in pythons():
        versions = versions_of(python)
        with tempfile.TemporaryDirectory() as scratch:
            cases = list(found(Path(folder), Path(scratch)))
            judge(python, versions, cases)
            for kind in ("DeepSpeed JSON", "LLaMA-Factory YAML"):
                own = [case for case in cases if case.kind == kind]
                rows.append(row(kind, versions, own))
            trouble += [case for case in cases if not case.agrees]
    lines = [f"- {one.path.name} ({one.kind}): library: {one.said}; here: {one.stops}" for one in trouble]
    half = os.environ.get("HALF")
    about = f"The {half} half. " if half else ""
    return "\n".join([f"{about}{len(trouble)} disagreements.", "", *rows, "", *lines])


def row(kind: str, versions: Mapping[str, str], cases: list[Case]) -> str:
    count = collections.Counter((case.said is not None, bool(case.stops)) for case in cases)
    names = (
        ("deepspeed", "transformers") if kind.startswith("DeepSpeed") else ("llamafactory", "transformers")
    )
    who = ", ".join(f"{name} {versions[name]}" for name in names)
    order = ((True, True), (True, False), (False, True), (False, False))
    return f"| {kind}; {who} | {len(cases)} | " + " | ".join(str(count[one]) for one in order) + " |"


def pythons() -> list[str]:
    legacy = HERE.parent / ".venvs" / "legacy" / "bin" / "python"
    named = os.environ.get("PYTHONS")
    return named.split(":") if named else [sys.executable, *([str(legacy)] if legacy.exists() else [])]


def versions_of(python: str) -> dict[str, str]:
    done = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def found(folder: Path, scratch: Path) -> Iterator[Case]:
    """The files of the asked half, each as a case. What is of neither kind is left out."""
    half = os.environ.get("HALF")
    for number, path in enumerate(sorted(p for p in folder.rglob("*") if p.is_file())):
        content = path.read_bytes()
        is_seen = hashlib.sha256(content).digest()[0] % 2 == 0
        if half and (half == "seen") != is_seen:
            continue
        place = scratch / str(number)
        place.mkdir()
        if path.suffix == ".json":
            case = of_json(path, content, place)
        elif path.suffix in (".yaml", ".yml"):
            case = of_yaml(path, content, place)
        else:
            continue
        if case is not None:
            yield case


def of_json(path: Path, content: bytes, place: Path) -> Case | None:
    config = json.loads(content)
    if not isinstance(config, dict) or not any(mark in config for mark in MARKS):
        return None
    arguments = {**BASE, **following(config)}
    (place / "arguments.yaml").write_text(yaml.safe_dump(arguments))
    (place / "deepspeed.json").write_bytes(content)
    return made(path, "DeepSpeed JSON", arguments, config, place)


def following(config: Mapping[str, Any]) -> dict[str, Any]:
    """The training arguments that this JSON stands beside."""
    told: dict[str, Any] = {"per_device_train_batch_size": 1, "gradient_accumulation_steps": 1}
    pairs = {
        "train_micro_batch_size_per_gpu": "per_device_train_batch_size",
        "gradient_accumulation_steps": "gradient_accumulation_steps",
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
    return told


def at(config: Any, key: str) -> Any:
    for part in key.split("."):
        config = config.get(part) if isinstance(config, Mapping) else None
    return config


def of_yaml(path: Path, content: bytes, place: Path) -> Case | None:
    values = yaml.safe_load(content)
    if not isinstance(values, dict) or "finetuning_type" not in values:
        return None
    config = json.loads(json.dumps(ZERO3)) if "deepspeed" in values else None
    if config is not None:
        config["zero_optimization"]["stage"] = 3 if "3" in str(values["deepspeed"]) else 2
        (place / "deepspeed.json").write_text(json.dumps(config))
    text = content.decode("utf-8", "replace")
    kept = [line for line in text.splitlines() if not line.startswith(("deepspeed:", "output_dir:"))]
    (place / "arguments.yaml").write_text("\n".join(kept) + "\n")
    return made(path, "LLaMA-Factory YAML", None, config, place)


def made(path: Path, kind: str, arguments: Any, config: dict[str, Any] | None, place: Path) -> Case:
    named = str(place / "deepspeed.json") if config is not None else None
    asked = {"yaml": str(place / "arguments.yaml"), "deepspeed": named, "ranks": RANKS}
    case = Case(path, kind, asked, json=config)
    file = place / "run.yaml"
    text = {
        "name": "one",
        "nodes": [{"name": f"node-{n}", "address": f"10.0.0.{n + 1}"} for n in range(RANKS)],
        "gpus": {"count": 1, "model": "A100-SXM4-80GB"},
        "environment": {"python": "/opt/env/bin/python"},
        "train": {"llamafactory": str(place / "arguments.yaml")},
        "deepspeed": named or "none",
    }
    file.write_text(yaml.safe_dump(text))
    try:
        case.run = spec.load(file)
    except BadInput as error:
        case.bad = str(error)
    return case


def judge(python: str, versions: Mapping[str, str], cases: list[Case]) -> None:
    """Fills in what the libraries say and what stops each case."""
    for case, said in zip(cases, read_by_libraries(python, cases), strict=True):
        case.said = said
    runs = [case for case in cases if case.run is not None]
    plans = [make_plan(case.run, None, None, deepspeed=case.json) for case in runs if case.run]
    questions = [library_trial.question(plan.run, plan.trainer, plan.deepspeed) for plan in plans]
    for case, question, answer in zip(runs, questions, trials(python, questions), strict=True):
        assert case.run is not None
        case.stops = stopping(case.run, case.json, versions, question["digest"], answer)
    usual = {"refused": False, "skipped": {}}
    for case in cases:
        if case.run is None:
            case.stops = [f"the run file: {case.bad}"]
            continue
        arguments = dataclasses.replace(case.run.train, arguments={**BASE, "bf16": True})
        plain = dataclasses.replace(case.run, train=arguments, deepspeed="none")
        about = library_trial.digest(plain, None)
        nobodys = set(stopping(plain, None, versions, about, usual))
        case.stops = [
            one for one in case.stops if one.partition(":")[0] not in {n.partition(":")[0] for n in nobodys}
        ]


def stopping(
    run: Run, config: dict[str, Any] | None, versions: Mapping[str, str], about: str, answer: Any
) -> list[str]:
    """The findings that stop a launch; what nodes did not say here stops all cases alike."""
    values = {
        "imports": {
            "modules": {"torch": {"seconds": 1.0}},
            "configuration": {"digest": about, "answer": answer},
        },
        "software": {"versions": dict(versions), "python": {"version": "3.11.0", "executable": "python"}},
    }
    facts = [Facts(node.name, 1.0, values) for node in run.cluster.nodes]
    plan = make_plan(run, None, {one.node: one for one in facts}, deepspeed=config)
    findings = [*run.notes, *plan.findings, *checks.judge(facts, plan, run)]
    return sorted({f"{one.id}: {one.saw}"[:400] for one in findings if one.stops_launch})


def read_by_libraries(python: str, cases: list[Case]) -> list[str | None]:
    lines = "".join(json.dumps(case.asked) + "\n" for case in cases)
    text = asked(python, ["-c", (HERE / "_config_reader.py").read_text()], lines)
    return [json.loads(line[5:]) for line in text.splitlines() if line.startswith("SAID ")]


def trials(python: str, questions: list[dict[str, Any]]) -> list[dict[str, Any]]:
    script = TRIAL + f"\nprint('SAID ' + json.dumps(answers(json.load(sys.stdin), {SECONDS})))"
    text = asked(python, ["-c", script], json.dumps(questions))
    return json.loads(next(line for line in text.splitlines() if line.startswith("SAID "))[5:])


def asked(python: str, words: list[str], text: str) -> str:
    own = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "HF_DATASETS_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }
    done = subprocess.run(
        [python, *words],
        input=text,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env={**os.environ, **own},
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{python} ended with {done.returncode}: {done.stderr[-2000:]}")
    return done.stdout
