"""`run --smoke` and `run --debug`: their changes to the run file, and the next step after a smoke run."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

from allranks.cli.common import loaded, typed_of

if TYPE_CHECKING:
    from allranks.plan import Plan

SMOKE_STEPS = 5
"""More than the first step, which compiles and allocates; enough to see the loss change."""

DEBUG = {
    "NCCL_DEBUG": "INFO",
    "NCCL_DEBUG_SUBSYS": "INIT,BOOTSTRAP,ENV,NET",
    "NCCL_DEBUG_FILE": "nccl-%h-%p.log",
    "TORCH_DISTRIBUTED_DEBUG": "DETAIL",
    "TORCH_CPP_LOG_LEVEL": "INFO",
    "TORCH_SHOW_CPP_STACKTRACES": "1",
    "TORCH_NCCL_DESYNC_DEBUG": "1",
    "PYTHONFAULTHANDLER": "1",
}
"""NCCL user guide, "Environment Variables"; torch.distributed, "Debugging". DETAIL compares every collective with
those of the other ranks (`collective_mismatch`). CUDA_LAUNCH_BLOCKING is not set: it would hide the races that the
user is looking for."""

OFFLOAD = ("deepspeed=zero3-offload", "network.fabric=tcp")
"""The offload profile also has the small buckets (`plan/deepspeed.py`): 200 M elements instead of 500 M in `zero3`."""

RUNGS = (
    (OFFLOAD, "optimizer in host memory, collectives over TCP"),
    (("deepspeed=zero3", "network.fabric=tcp"), "optimizer on the GPUs: no traffic over PCIe in each step"),
    ((), "the run file unchanged: the fastest fabric that passes the probe"),
)
"""The rungs from careful to fast, each with its gain over the previous one."""

ON_TCP = ("Ethernet",)
"""The networks of the plan's comparison that a run over TCP can use."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--smoke",
        action="store_true",
        help=f"{SMOKE_STEPS} steps on careful settings (offload, small buckets, TCP); then propose the next "
        f"faster setting",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="enable NCCL and torch debug logs; NCCL's logs go to separate files",
    )


def set_for(options: argparse.Namespace) -> None:
    """Puts the settings of the two options before the user's own --set, which wins."""
    sets: list[str] = []
    if options.debug:
        sets += [f"env.{name}={value}" for name, value in DEBUG.items()]
    if options.smoke:
        steps = f"train.llamafactory.max_steps={SMOKE_STEPS}"
        sets += [steps, "train.llamafactory.logging_steps=1", *careful(options)]
    options.sets = [*sets, *options.sets]


def careful(options: argparse.Namespace) -> tuple[str, ...]:
    """The lowest rung for this run file. Raises BadInput for a script, because only the script can count its steps."""
    run = loaded(options, options.sets)
    if run.train.kind != "llamafactory":
        raise run.refuse(
            "train.command",
            "--smoke with train.command",
            "allranks does not control the number of steps of your own script.",
            "give it its own option for a few steps in train.command",
        )
    # Without a GPU there is nothing to offload, and gloo uses TCP.
    return () if run.on_cpu else OFFLOAD


def next_rung(options: argparse.Namespace, state: dict[str, Any]) -> list[str]:
    """The lines to print after a smoke run: the next rung, its gain according to the plan, and the memory that it
    needs."""
    if state.get("state") != "succeeded":
        return ["the smoke run failed, so no faster setting can succeed. The cause is above."]
    smoked = set(options.sets)
    rungs = RUNGS[1:] if smoked.issuperset(OFFLOAD) else RUNGS[2:]
    before = planned_for(options, OFFLOAD) if smoked.issuperset(OFFLOAD) else None
    lines = []
    for sets, gain in rungs:
        plan = planned_for(options, sets)
        words = " ".join(f"--set {one}" for one in sets)
        fits = memory_of(plan)
        said = [gain, *buckets_of(plan, before), *speed_of(plan, sets), *fits]
        named = shlex.join(typed_of(options).as_words())
        lines += [f"next  allranks run {' '.join(filter(None, (words, named)))}", "      " + "; ".join(said)]
        if not any("does not fit" in text for text in fits):
            break
    return lines


def planned_for(options: argparse.Namespace, sets: tuple[str, ...]) -> Plan:
    """The plan of the run file, with a rung's settings in place of the smoke run's."""
    from allranks.runs.inspection import planned

    own = [one for one in options.sets if one.partition("=")[0] not in CHANGED]
    return planned(loaded(options, [*own, *sets]))


def buckets_of(plan: Plan, before: Plan | None) -> list[str]:
    """The prefetch bucket, if it differs from the one before. It decides how much is gathered ahead."""
    now, then = (bucket(one) for one in (plan, before))
    return (
        [f"buckets of {now / 1e6:.0f} M elements instead of {then / 1e6:.0f} M"]
        if now and then != now and then
        else []
    )


def bucket(plan: Plan | None) -> int | None:
    zero = ((plan.deepspeed if plan else None) or {}).get("zero_optimization") or {}
    size = zero.get("stage3_prefetch_bucket_size")
    return size if isinstance(size, int) else None


def speed_of(plan: Plan, sets: tuple[str, ...]) -> list[str]:
    """The planned seconds per step on the networks that this rung may use."""
    networks = (plan.traffic or {}).get("networks") or []
    if "network.fabric=tcp" in sets:
        networks = [one for one in networks if any(word in str(one.get("name")) for word in ON_TCP)]
    rows = [(one["seconds_per_step"], one["name"]) for one in networks if one.get("seconds_per_step")]
    said = " or ".join(f"{seconds:.3g} s on {name}" for seconds, name in rows)
    return [f"planned per step: {said}"] if said else []


def memory_of(plan: Plan) -> list[str]:
    memory = plan.memory or {}
    total = (memory.get("gpu_bytes") or {}).get("total")
    if total is None:
        return []
    says = {"does-not-fit": "does not fit", "too-close": "is close to the limit", "fits": "fits"}
    verdict = says.get(str(memory.get("verdict")), "")
    return [f"{total / (1 << 30):.1f} GiB per GPU {verdict}".rstrip()]


CHANGED = ("deepspeed", "network.fabric", "train.llamafactory.max_steps", "train.llamafactory.logging_steps")
