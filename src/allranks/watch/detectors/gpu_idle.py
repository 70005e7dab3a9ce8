"""A GPU idles while others work

## What is seen
In training one GPU is used less than 5 % for more than a minute, while another one of the run is used.

## Why it matters
Its rank does nothing, or works on the CPU or on another rank's GPU; the run waits for it.

## What to do
Look at that rank's device (LOCAL_RANK, CUDA_VISIBLE_DEVICES) and at its stack.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.records import IDLE_PERCENT
from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

IDLE_SECONDS = 60.0


def look(run: RunState, now: float) -> Iterator[Finding]:
    training = run.ranks and all(r.phase == "training" for r in run.ranks.values() if r.alive)
    if run.quiet or not training or run.step < 1:
        return
    counted = [len(n.sample.get("gpus") or ()) for n in run.nodes.values()]
    idle = [(name, gpu, at) for name, node in run.nodes.items() for gpu, at in node.gpu_idle.items()]
    if not idle or len(idle) >= sum(counted):
        return  # all idle: that is no one GPU's fault
    used = {r.uuid for r in run.ranks.values()}
    for name, gpu, at in idle:
        if now - at >= IDLE_SECONDS and (gpu in used or not any(used)):
            rank = next((r.rank for r in run.ranks.values() if r.uuid == gpu), None)
            yield Finding(
                id="gpu-idle",
                verdict=WARN,
                where=Where(node=name, rank=rank),
                saw=f"GPU {gpu} is used less than {IDLE_PERCENT:.0f} % for {now - at:.0f} s.",
                expected="every GPU of the run at work in training",
                why="its rank does nothing, or works elsewhere.",
                fix="look at that rank's LOCAL_RANK, CUDA_VISIBLE_DEVICES and stack.",
            )


def _events(*utilization: float) -> list:
    beat = {"at": 1.0, "kind": "beat", "node": "a", "rank": 0, "data": {"phase": "training", "step": 3}}
    gpus = [{"uuid": f"GPU-{n}", "utilization": used} for n, used in enumerate(utilization)]
    return [
        beat,
        *({"at": float(t), "kind": "sample", "node": "a", "data": {"gpus": gpus}} for t in range(2, 90, 5)),
    ]


FIRES = [{"events": _events(97.0, 0.0), "now": 90.0}]
SILENT = [{"events": _events(97.0, 60.0), "now": 90.0}, {"events": _events(0.0, 0.0), "now": 90.0}]
