"""No false alarm: `allranks check` on a machine that trains. Everything that it says there is shown, to be judged.

A finding that stops a launch counts as an alarm, unless the run really could not start: the watch and demo stages
start runs on the same machine.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from benchmarks._gpu.parts import ROOT, LeftOut, Machine, Part, missing, program
from benchmarks._gpu.redaction import scrubbed
from benchmarks._gpu.runs import product
from benchmarks._gpu.stage_facts import gpus_of, needs_rich, places, run_of

TITLE = "Checks of a machine with a GPU: no false alarm"
ALARMS = ("block", "unknown", "warn")


def script(machine: Machine) -> dict[str, Any]:
    """A script of one's own on one GPU."""
    return checked({**run_of(machine), "environment": {"python": sys.executable}})


def demo(machine: Machine, nodes: str = "localhost") -> dict[str, Any]:
    """The demo's run file as data, for this machine's device."""
    tiny = ROOT / ".cache" / "tiny-deepseek-v3"
    lacking = missing(("torch", "transformers", "deepspeed", "peft", "llamafactory"))
    if lacking:
        raise LeftOut(f"not installed: {', '.join(lacking)}")
    return {
        "name": "gpu-demo",
        "nodes": nodes,
        "same_host": nodes != "localhost",
        "gpus": gpus_of(machine),
        "environment": {"python": sys.executable},
        "train": {"llamafactory": {**ARGUMENTS, **of_device(machine), "dataset_dir": str(tiny / "data"),
                                   "model_name_or_path": str(tiny / "model")}},
        "save": {"every": 10, "keep": 2},
        "env": {"OMP_NUM_THREADS": "1"},
    }  # fmt: skip


ARGUMENTS: dict[str, Any] = {
    "stage": "sft",
    "do_train": True,
    "dataset": "keeping",
    "template": "default",
    "cutoff_len": 64,
    "preprocessing_num_workers": 1,
    "finetuning_type": "lora",
    "lora_target": "q_a_proj,q_b_proj,kv_a_proj_with_mqa,kv_b_proj,o_proj",
    "lora_rank": 16,
    "lora_alpha": 32,
    "per_device_train_batch_size": 4,
    "gradient_accumulation_steps": 1,
    "learning_rate": 1e-2,
    "lr_scheduler_type": "cosine",
    "warmup_steps": 3,
    "logging_steps": 1,
    "bf16": True,
    "report_to": "none",
}


def of_device(machine: Machine) -> dict[str, Any]:
    return {"max_steps": 4, "use_cpu": True} if machine.tiny else {"max_steps": 36}


def made_tiny() -> None:
    """The demo's model and data, made here: nothing is fetched."""
    program([str(ROOT / "examples" / "make_tiny.py"), str(ROOT / ".cache" / "tiny-deepseek-v3")], seconds=120)


def checked(run: dict[str, Any]) -> dict[str, Any]:
    """What `check` says of a run file: every finding that is no plain note."""
    with product() as one:
        code, found = one.call("check", one.file("run.yaml", run))
    alarms = [
        {key: f.get(key) for key in ("id", "verdict", "saw", "why", "fix")}
        for f in found["findings"]
        if f["verdict"] in ALARMS
    ]
    stopping = [f["id"] for f in alarms if f["verdict"] in ("block", "unknown")]
    return {
        "code": code,
        "checks": len(found["checks"]),
        "findings": scrubbed(json.loads(json.dumps(alarms)), places()),
        "notes": sorted({f["id"] for f in found["findings"] if f["verdict"] == "note"}),
        "met": not stopping,
    }


def of_trainer(machine: Machine) -> dict[str, Any]:
    run = demo(machine)
    made_tiny()
    return checked(run)


PARTS = (
    Part("script", needs_rich(script), 150.0, ("torch",)),
    Part("trainer", needs_rich(of_trainer), 240.0, ("torch",)),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    lines = ["| run | checks | exit code | said |", "|---|---|---|---|"]
    for name, one in parts.items():
        said = "; ".join(f"{f['verdict']} `{f['id']}`: {f['saw']}" for f in one["findings"]) or "nothing"
        lines.append(f"| {name} | {one['checks']} | {one['code']} | {said.replace('|', '/')} |")
    return "\n".join([*lines, "", "Aim: nothing that stops the launch of a run which then trains."])
