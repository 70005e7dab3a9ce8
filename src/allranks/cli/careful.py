"""`run --smoke` and `run --debug`: what they change in the run file, and what comes after a smoke run."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from allranks.words.errors import BadInput, Problem

if TYPE_CHECKING:
    from allranks.spec import Run

SMOKE_STEPS = 5
"""Past the first step, which compiles and allocates, and with a few more to see a loss move."""

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
"""NCCL user guide, "Environment Variables"; torch.distributed, "Debugging". DETAIL checks every collective against
the other ranks' (`collective_mismatch`). CUDA_LAUNCH_BLOCKING is not among them: it hides the races one looks for."""

OFFLOAD = ("deepspeed=zero3-offload", "network.fabric=tcp")
RUNGS = (
    (OFFLOAD, "optimizer in host memory, collectives over TCP"),
    (("deepspeed=zero3", "network.fabric=tcp"), "optimizer on the GPUs: no way over PCIe in each step"),
    ((), "the run file as it stands: the fastest fabric that the probe passes"),
)
"""From careful to fast, each with what it gains over the one before."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--smoke",
        action="store_true",
        help=f"{SMOKE_STEPS} real steps on careful settings (offload, TCP), then the next rung is proposed",
    )
    parser.add_argument(
        "--debug",
        action="store_true",
        help="with the debugging switches of NCCL and torch; NCCL's logs apart",
    )


def set_for(options: argparse.Namespace) -> None:
    """Puts what the two options mean before the user's own --set, which wins."""
    sets: list[str] = []
    if options.debug:
        sets += [f"env.{name}={value}" for name, value in DEBUG.items()]
    if options.smoke:
        steps = f"train.llamafactory.max_steps={SMOKE_STEPS}"
        sets += [steps, "train.llamafactory.logging_steps=1", *careful(options)]
    options.sets = [*sets, *options.sets]


def careful(options: argparse.Namespace) -> tuple[str, ...]:
    """The lowest rung for this run file; raises BadInput for a script, whose steps only it can count."""
    from allranks import spec

    run = spec.load(options.file, sets=options.sets)
    if run.train.kind != "llamafactory":
        raise BadInput(
            Problem(
                "--smoke with train.command",
                why="how many steps a script of your own makes is its own matter.",
                do="give it its own option for a few steps in train.command",
                file=run.file,
                line=run.line("train.command"),
            )
        )
    # Without a GPU there is nothing to offload from, and gloo is TCP.
    return () if run.train.arguments.get("use_cpu") else OFFLOAD


def next_rung(options: argparse.Namespace, state: dict[str, Any]) -> list[str]:
    """What to say after a smoke run: the next rung, with the memory that it is planned to need."""
    if state.get("state") != "succeeded":
        return ["the smoke run did not succeed: nothing faster will. Its cause stands above."]
    smoked = set(options.sets)
    rungs = RUNGS[1:] if smoked.issuperset(OFFLOAD) else RUNGS[2:]
    lines = []
    for sets, gain in rungs:
        words = " ".join(f"--set {one}" for one in sets)
        fits = memory_of(options, sets)
        lines += [f"next  allranks run {options.file} {words}".rstrip(), f"      {gain}{fits}"]
        if "does not fit" not in fits:
            break
    return lines


def memory_of(options: argparse.Namespace, sets: tuple[str, ...]) -> str:
    from allranks import spec
    from allranks.runs.inspect import planned

    own = [one for one in options.sets if one.partition("=")[0] not in CHANGED]
    run: Run = spec.load(options.file, sets=[*own, *sets], accept=options.accept)
    memory = planned(run).memory or {}
    total = (memory.get("gpu_bytes") or {}).get("total")
    if total is None:
        return ""
    says = {"does-not-fit": "does not fit", "too-close": "is close to the limit", "fits": "fits"}
    verdict = says.get(str(memory.get("verdict")), "")
    return f"; {total / (1 << 30):.1f} GiB a GPU {verdict}".rstrip()


CHANGED = ("deepspeed", "network.fabric", "train.llamafactory.max_steps", "train.llamafactory.logging_steps")
