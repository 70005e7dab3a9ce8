"""Faults of a run on a GPU: is the right rank named, with the right cause? One rank trains on the GPU with NCCL; in one
part it is one of two, and the other trains on the CPU, since NCCL lets no two ranks share a GPU and the watch rightly
says so of two that do. No fault needs root, and none leaves an Xid behind."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import _fault_judge as judging
from benchmarks._fault import LOOP, Fault, Right
from benchmarks._fault_results import Outcome
from benchmarks._faults import FAULTS
from benchmarks._gpu.parts import TAIL, Machine, Part
from benchmarks._gpu.redaction import scrubbed
from benchmarks._gpu.runs import OVER, Product, product
from benchmarks._gpu.stage_facts import SHARED, gpus_of, needs_rich, places

TITLE = "Faults of a run on a GPU: the right cause"
ALONE = ("exception", "sigkill", "gpu-oom", "sigstop")
OF_TWO = ("sigstop",)
"""Of two ranks the other one still beats, of one nobody does: two ways to know that a rank is stopped."""
OF_GPU = {"gpu-oom": Fault((Right(("cuda-oom",)),), 15.0)}
START_SECONDS, END_SECONDS, MORE_SECONDS = 60.0, 40.0, 5.0


def known() -> contextlib.AbstractContextManager[object]:
    """The judge goes by the table of the rig's faults; while one of a GPU is judged, it goes by that one's own."""
    return patch.dict(FAULTS, OF_GPU)


def measure(name: str, ranks: int) -> Any:
    def measured(machine: Machine) -> dict[str, Any]:
        with known(), product() as command:
            return tried(command, name, machine, ranks)

    return needs_rich(measured)


def tried(command: Product, name: str, machine: Machine, ranks: int = 1) -> dict[str, Any]:
    """One run with one fault at its last rank, and what was said of it."""
    place = command.folder / "fault"
    place.mkdir()
    outcome = Outcome("ours", name, "steady", node=ranks, rank=ranks - 1)
    controller = command.start("run", command.file("run.yaml", run_file(name, place, machine, ranks)))
    try:
        reached = reached_by(place, controller)
        began = float((place / "at").read_text()) if (place / "at").exists() else reached
        state, events = followed(command, outcome, began)
    finally:
        command.clean()  # a run that stands is stopped; its controller follows it
        with contextlib.suppress(subprocess.TimeoutExpired):
            controller.communicate(timeout=30)
        if controller.poll() is None:
            controller.kill()
            controller.communicate()
    gpus = [e["data"]["gpu"] for e in events if e["kind"] == "start" and e["data"].get("gpu")]
    found = {
        "state": state["state"],
        "said": outcome.said,
        "statements": outcome.statements,
        "elsewhere": outcome.elsewhere,
        "noticed": outcome.noticed,
        "named": outcome.named,
        "right_place": outcome.right_place,
        "right_cause": outcome.right_cause,
        "diagnosis": state.get("diagnosis"),
        "gpus_told": len(gpus),
    }
    right = outcome.right_place and outcome.right_cause and not outcome.elsewhere
    paths = {**places(), str(command.folder): "/home/ubuntu/run"}
    return scrubbed({**found, "met": right and (machine.tiny or len(gpus) > 0)}, paths)


def reached_by(place: Path, controller: subprocess.Popen[str]) -> float:
    """When the rank came to the place of its fault. Raises RuntimeError if the run ended before, with its words."""
    until = time.monotonic() + START_SECONDS
    while not (place / "reached").exists():
        if controller.poll() is not None:
            said = controller.stdout.read() if controller.stdout else ""
            raise RuntimeError(f"the run ended before its fault: {said[-TAIL:]}")
        if time.monotonic() > until:
            raise TimeoutError(f"the run did not come to its fault within {START_SECONDS:g} s")
        time.sleep(0.1)
    return float((place / "reached").read_text())


def followed(command: Product, outcome: Outcome, began: float) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """(the run's last state, its events): until it is over, or some seconds after the right word of a run that stands,
    since a wrong word after the right one counts; else until nobody waits any longer."""
    until = time.time() + END_SECONDS
    while True:
        (state,), events = command.states(), command.journal()
        judging.judge(outcome, [e for e in events if e["at"] >= began - 0.2], began)
        named = outcome.right_cause and time.time() > began + (outcome.named or 0.0) + MORE_SECONDS
        if state["state"] in OVER or named or time.time() > until:
            return state, events
        time.sleep(0.5)


def run_file(name: str, place: Path, machine: Machine, ranks: int = 1) -> dict[str, Any]:
    step = 5 if machine.tiny else 25
    words = ["--fault", name, "--rank", str(ranks - 1), "--step", str(step)]
    on_gpu = {"DEVICE": "cuda:0"} if machine.device == "cuda" else {}
    nodes: list[dict[str, Any]] = [{"name": f"node{n + 1}"} for n in range(ranks)]
    nodes[-1]["env"] = {"DEVICE": "cpu", **on_gpu}
    return {
        "name": "gpu-fault",
        "nodes": nodes,
        "same_host": True,
        "gpus": gpus_of(machine),
        "environment": {"python": sys.executable},
        "env": {
            "FAULT_DIR": str(place),
            "BACKEND": "nccl" if on_gpu and ranks == 1 else "gloo",
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
        },
        "accept": list(SHARED),  # of two ranks one is on the CPU, which the plan does not know
        "train": {"command": [str(LOOP), *words]},
        "deepspeed": "none",
    }


NEEDS = ("torch", "safetensors")
PARTS = (
    *(Part(name, measure(name, 1), 108.0, NEEDS) for name in ALONE),
    *(Part(f"{name}-of-two", measure(name, 2), 108.0, NEEDS) for name in OF_TWO),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    rows = ["| fault | noticed, s | named, s | said | place | cause |", "|---|---|---|---|---|---|"]
    for name, one in parts.items():
        place, cause = ("right" if one[f"right_{what}"] else "WRONG" for what in ("place", "cause"))
        rows.append(f"| {name} | {one['noticed']} | {one['named']} | {one['said']} | {place} | {cause} |")
    return "\n".join(rows)
