"""The planner's peak of a GPU's memory against the allocator's: six configurations, and one at the edge."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from allranks.core import Cluster, Facts, Node
from allranks.plan import Plan, make_plan
from allranks.plan.memory import DOES_NOT_FIT, FITS
from allranks.spec import Run, Train
from allranks.spec.run import Gpus
from benchmarks._gpu.parts import TAIL, LeftOut, Machine, Part, one_rank, program
from benchmarks._gpu.stage_facts import model_of
from benchmarks.plan import LARGE, LLAMA, MOE, filled
from tests.harness import free_port

TITLE = "Peak memory of a GPU against the plan"
RANK = Path(__file__).parent / "_memory_rank.py"
AIM = 0.03
"""Of the median error."""

CLAIMED = 0.05
"""What the planner says of itself: the estimate is off by up to so much."""

STEPS, TOKENS, TINY_TOKENS = 6, 2048, 32
ATTENTION = "q_proj,v_proj"
WHOLE_MOE = {**MOE, **LARGE, "model_type": "qwen3_moe", "num_hidden_layers": 8}


@dataclass(frozen=True)
class Configuration:
    """`unfused`: experts as single modules, as transformers before 5 has them."""

    name: str
    model: dict[str, Any]
    method: str = "lora"
    zero: int = 0
    checkpointing: bool = True
    unfused: bool = False
    rows: int = 1

    @property
    def needs(self) -> tuple[str, ...]:
        return (
            "torch",
            "transformers",
            *(("peft",) if self.method == "lora" else ()),
            *(("deepspeed",) if self.zero else ()),
        )


DENSE = {**LARGE, "num_hidden_layers": 24}
CONFIGURATIONS = (
    Configuration("lora-zero0", DENSE, rows=4),
    Configuration("lora-zero3-whole-activations", DENSE, zero=3, checkpointing=False),
    Configuration("full-zero0", DENSE, method="full"),
    Configuration("full-zero3-whole-activations", DENSE, method="full", zero=3, checkpointing=False),
    Configuration("moe-fused-lora-zero3", WHOLE_MOE, zero=3),
    Configuration("moe-unfused-lora-zero0", WHOLE_MOE, unfused=True, checkpointing=False),
)
EDGE = Configuration("edge", DENSE, method="full")


def planned(one: Configuration, machine: Machine) -> Plan:
    """The plan of one rank on this machine's GPU."""
    arguments = {
        "finetuning_type": one.method,
        "per_device_train_batch_size": one.rows,
        "cutoff_len": TOKENS if not machine.tiny else TINY_TOKENS,
        "bf16": True,
        "disable_gradient_checkpointing": not one.checkpointing,
        **({"lora_target": ATTENTION} if one.method == "lora" else {}),
    }
    run = Run(
        "bench",
        Cluster((Node("here", "127.0.0.1", 0, 1),)),
        Train("llamafactory", arguments),
        same_host=True,
        deepspeed="auto" if one.zero else "none",
        gpus=Gpus(1, model_of(machine.gpu) or None),
    )
    return make_plan(run, of_size(one.model, machine), {"here": versions(one)})


def versions(one: Configuration) -> Facts:
    """What is installed here, but for the experts' form, which goes by transformers' version."""
    found = {}
    for name in ("transformers", "deepspeed"):
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    if one.unfused:
        found["transformers"] = "4.57.0"
    return Facts("here", 0.0, {"software": {"versions": found}}, {})


def of_size(model: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """On a CPU the same architecture with every width cut down."""
    if not machine.tiny:
        return model
    small = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": 256}
    small.update(num_attention_heads=4, num_key_value_heads=4)
    if model["model_type"] == "qwen3_moe":
        small.update(head_dim=16, moe_intermediate_size=32, num_experts=4)
    return {**(MOE if model["model_type"] == "qwen3_moe" else LLAMA), **small}


def job(one: Configuration, machine: Machine, plan: Plan, steps: int = STEPS) -> dict[str, Any]:
    """What the rank is told."""
    config = filled(dict(plan.deepspeed)) if plan.deepspeed is not None else None
    if config is not None:
        config["train_micro_batch_size_per_gpu"] = one.rows
    return {
        "name": one.name,
        "config": of_size(one.model, machine),
        "method": one.method,
        "unfused": one.unfused,
        "leaf": "Qwen3MoeSparseMoeBlock" if one.zero and one.model["model_type"] == "qwen3_moe" else None,
        "targets": list(plan.trained.leaves) if plan.trained and one.method == "lora" else [],
        "rank": plan.setting.lora.rank if plan.setting.lora else 8,
        "checkpointing": one.checkpointing,
        "reentrant": bool(plan.trainer.get("use_reentrant_gc", True)),
        "deepspeed": config,
        "device": machine.device,
        "rows": one.rows,
        "tokens": TOKENS if not machine.tiny else TINY_TOKENS,
        "steps": steps if not machine.tiny else 3,
    }


def ran(jobs: list[dict[str, Any]], seconds: float) -> list[dict[str, Any]]:
    """The rows of these jobs, of one process."""
    with tempfile.TemporaryDirectory(prefix="gpu-memory-") as folder:
        paths = []
        for number, one in enumerate(jobs):
            paths.append(Path(folder) / f"{number}.json")
            paths[-1].write_text(json.dumps(one))
        env = {"OMP_NUM_THREADS": "4", "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
        output = program([str(RANK), *map(str, paths)], {**one_rank(free_port()), **env}, seconds)
    rows = [
        json.loads(line.removeprefix("RESULT ")) for line in output.splitlines() if line.startswith("RESULT ")
    ]
    if len(rows) != len(jobs):
        raise RuntimeError(f"{len(rows)} of {len(jobs)} configurations told a result: {output[-TAIL:]}")
    return rows


def compared(plan: Plan, row: dict[str, Any], machine: Machine) -> dict[str, Any]:
    """One configuration: planned against measured. `met`: it is within what is claimed, and never says `fits` of what
    ran out of memory or took more than a GPU of the size for which that would just be said."""
    assert plan.memory is not None
    parts, usable = dict(plan.memory["gpu_bytes"]), plan.memory["gpu_usable_bytes"]
    found = {
        "planned": plan.memory["gpu_allocated_bytes"],
        "planned_total": parts["total"],
        "parts": parts,
        "moment": plan.memory["gpu_moment"],
        "verdict": plan.memory["verdict"],
        "usable": usable,
        **row,
    }
    if machine.tiny:
        return {**found, "met": None}
    # `fits` is said up to 92 % of a GPU: on one that is just large enough for that word, this would have to run.
    enough = parts["total"] / 0.92
    found["false_fit"] = (row["out_of_memory"] and plan.memory["verdict"] == FITS) or (
        not row["out_of_memory"] and row["reserved"] + parts["runtime"] > enough
    )
    found["error"] = None if row["out_of_memory"] else found["planned"] / row["allocated"] - 1
    near = found["error"] is not None and abs(found["error"]) <= CLAIMED
    return {**found, "met": near and not found["false_fit"]}


def measure(one: Configuration) -> Any:
    def measured(machine: Machine) -> dict[str, Any]:
        plan = planned(one, machine)
        return compared(plan, ran([job(one, machine, plan)], 110)[0], machine)

    return measured


# ---- at the edge ----


def edge(machine: Machine) -> dict[str, Any]:
    """The largest batch that is said to fit must run; the smallest that is said not to fit must not."""
    if machine.tiny:
        fitting, hopeless = 1, 2
    else:
        fitting, hopeless = largest(machine, FITS), largest(machine, None) + 1
        if not fitting:
            raise LeftOut(f"the planner does not know {machine.gpu}, or nothing is said to fit")
    found: dict[str, Any] = {"usable": planned(EDGE, machine).memory["gpu_usable_bytes"]}  # type: ignore[index]
    for name, rows in (("fits", fitting), ("does_not_fit", hopeless)):
        one = dataclasses.replace(EDGE, name=name, rows=rows)
        plan = planned(one, machine)
        found[name] = {"rows": rows, **compared(plan, ran([job(one, machine, plan, 4)], 100)[0], machine)}
    if not machine.tiny:
        found["met"] = not found["fits"]["out_of_memory"]
    return found


def largest(machine: Machine, verdict: str | None) -> int:
    """The largest batch of the edge's configuration with this verdict (None: any but `does-not-fit`)."""
    low, high = 0, 4096
    while low < high:
        middle = (low + high + 1) // 2
        memory = planned(dataclasses.replace(EDGE, rows=middle), machine).memory
        said = memory["verdict"] if memory else None
        if said == verdict if verdict else said not in (DOES_NOT_FIT, None):
            low = middle
        else:
            high = middle - 1
    return low


PARTS = (
    *(Part(one.name, measure(one), 70.0, one.needs) for one in CONFIGURATIONS),
    Part("edge", edge, 140.0, EDGE.needs),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    rows = ["| run | allocated | planned | error | reserved | a step |", "|---|---|---|---|---|---|"]
    errors, false_fits = [], 0
    for name, one in parts.items():
        if name == "edge":
            continue
        false_fits += bool(one["false_fit"])
        if one["error"] is None:
            rows.append(f"| {name} | out of memory | {mib(one['planned'])} | | | |")
            continue
        errors.append(abs(one["error"]))
        rows.append(
            f"| {name} | {mib(one['allocated'])} | {mib(one['planned'])} | {100 * one['error']:+.1f} % "
            f"| {mib(one['reserved'])} | {statistics.median(one['seconds']):.2f} s |"
        )
    text = "\n".join(rows)
    if errors:
        text += (
            f"\n\nMedian error **{statistics.median(errors):.1%}** of {len(errors)} configurations (aim ≤ {AIM:.0%}), "
            f"{false_fits} false `fits` (aim 0)."
        )
    if "edge" in parts:
        text += "\n\n" + at_edge(parts["edge"])
    return text


def mib(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


def at_edge(one: dict[str, Any]) -> str:
    """Full training of the dense model, batch by batch to the GPU's end."""
    said = []
    for name, word in (("fits", "to fit"), ("does_not_fit", "not to fit")):
        row = one[name]
        end = "ran out of memory" if row["out_of_memory"] else f"trained with {mib(row['reserved'])} reserved"
        said.append(f"a batch of {row['rows']}, said {word} ({mib(row['planned_total'])} planned), {end}")
    return f"At the edge of {mib(one['usable'])}: {'; '.join(said)}."
