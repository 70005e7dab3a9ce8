"""The demo with CUDA: check, launch, watch, verify, on a machine with one GPU. Two ranks share it where NCCL lets
them, else one has it."""

from __future__ import annotations

from typing import Any

from benchmarks._gpu.parts import LeftOut, Machine, Part
from benchmarks._gpu.redaction import scrubbed
from benchmarks._gpu.runs import product
from benchmarks._gpu.stage_checks import demo, made_tiny
from benchmarks._gpu.stage_facts import SHARED, needs_rich, places
from benchmarks._gpu.stage_nccl import REFUSED, SHARE

TITLE = "The demo on a GPU"


def one(machine: Machine) -> dict[str, Any]:
    """One rank."""
    return trained(machine, demo(machine))


def two(machine: Machine) -> dict[str, Any]:
    """Two nodes of one rank each on this machine. That both have one GPU is what is tried, so it may pass."""
    run = demo(machine, "node-[0-1]")
    run["accept"] = list(SHARED)
    run["env"] = {**run["env"], **SHARE, "GLOO_SOCKET_IFNAME": "lo"}
    return trained(machine, run)


def trained(machine: Machine, run: dict[str, Any]) -> dict[str, Any]:
    """A whole run, and what it said of itself."""
    made_tiny()
    with product() as command:
        code, told = command.call("run", command.file("run.yaml", run), seconds=200)
        events = command.journal()
        logs = "\n".join(
            path.read_text(errors="replace") for path in command.home.glob("runs/*/nodes/*/logs/rank-*.log")
        )
    if REFUSED in logs:
        raise LeftOut("NCCL lets no two ranks share a GPU here")
    state = (told.get("runs") or [{}])[0]
    adapter = state.get("adapter") or {}
    losses = {
        s[0]: s[1] for e in events if e["kind"] == "beat" for s in e["data"]["steps"] if s[1] is not None
    }
    starts = [e["data"].get("gpu") for e in events if e["kind"] == "start" and e["data"].get("gpu")]
    peaks = [e["data"]["gpu_peak_bytes"] for e in events if e["data"].get("gpu_peak_bytes")]
    own = [s[6] for e in events if e["kind"] == "beat" for s in e["data"]["steps"] if len(s) > 6 and s[6]]
    found = {
        "code": code,
        "state": state.get("state"),
        "step": state.get("step"),
        "adapter": {key: adapter.get(key) for key in ("tensors", "parameters", "whole", "changed")},
        "diagnosis": state.get("diagnosis"),
        "findings": [f["id"] for f in told.get("findings") or [] if f["verdict"] in ("block", "unknown", "warn")],
        "losses": [losses[step] for step in sorted(losses)],
        "gpus": starts[-1:],
        "gpu_peak_bytes": max(peaks, default=None),
        "own_seconds": own[-3:],
        "seconds": span(events),
        "tail": logs[-1500:] if code else "",
    }  # fmt: skip
    whole = code == 0 and bool(adapter.get("whole")) and bool(adapter.get("changed"))
    said_gpu = machine.tiny or (bool(starts) and bool(peaks))
    return scrubbed({**found, "met": whole and said_gpu}, {**places(), str(command.folder): "/home/ubuntu"})


def span(events: list[dict[str, Any]]) -> float | None:
    times = [e["at"] for e in events]
    return round(max(times) - min(times), 1) if times else None


PARTS = (
    Part("one", needs_rich(one), 240.0, ("torch",)),
    Part("two", needs_rich(two), 240.0, ("torch",)),
)


def table(parts: dict[str, dict[str, Any]]) -> str:
    head = "| ranks | state | steps | loss | adapter | GPU memory at most | seconds |"
    rows = [head, "|---|---|---|---|---|---|---|"]
    for name, found in parts.items():
        losses = found["losses"]
        fall = f"{losses[0]:.2f} to {losses[-1]:.2f}" if losses else "none told"
        kept = found["adapter"]
        adapter = "whole and changed" if kept["whole"] and kept["changed"] else "NOT whole"
        peak = found["gpu_peak_bytes"]
        memory = f"{peak / 2**20:.0f} MiB" if peak else "none told"
        rows.append(
            f"| {name} | {found['state']} | {found['step']} | {fall} | {adapter} | {memory} | {found['seconds']} |"
        )
    return "\n".join(rows)
