"""A GPU idles while others work

## What is seen
In training one GPU was used less than 5 % at every look (one each 15 s) for a minute, while another one of the run is
used. Not after the last step, when one rank may work alone.

## Why it matters
Its rank does nothing, or works on the CPU or on another rank's GPU; the run waits for it.

## What to do
Look at that rank's device (LOCAL_RANK, CUDA_VISIBLE_DEVICES) and at its stack.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch.fold_nodes import gpu_name
from allranks.watch.pace import has_trained
from allranks.watch.records import IDLE_PERCENT
from allranks.watch.state import RunState
from allranks.words import WARN, Finding, Where

IDLE_SECONDS = 60.0
"""From the first look that saw it idle to the last one: five looks, one each 15 s (node/samples.py). A rank may work on
the CPU for some seconds, between two of them."""

OLD_SECONDS = 45.0
"""Three looks that did not come: nobody knows what the GPU does now."""


def look(run: RunState, now: float) -> Iterator[Finding]:
    training = run.ranks and all(r.phase == "training" for r in run.ranks.values() if r.alive)
    if run.quiet or not training or run.step < 1 or has_trained(run):
        return
    known = {r.uuid for r in run.ranks.values() if r.alive and r.uuid}
    rows = [(node, gpu_name(gpu)) for node in run.nodes.values() for gpu in node.gpus]
    rows = [(node, gpu) for node, gpu in rows if gpu in known or not known]
    idle = [(node, gpu) for node, gpu in rows if gpu in node.gpu_idle]
    if len(idle) == len(rows):
        return  # all idle: that is no one GPU's fault
    for node, gpu in idle:
        looked, at = node.gpus_at or 0.0, node.gpu_idle[gpu]
        if looked - at < IDLE_SECONDS or now - looked > OLD_SECONDS:
            continue
        rank = next((r.rank for r in run.ranks.values() if r.uuid == gpu), None)
        yield Finding(
            id="gpu-idle",
            verdict=WARN,
            where=Where(node=node.name, rank=rank),
            saw=f"GPU {gpu} was used less than {IDLE_PERCENT:.0f} % at every look for {looked - at:.0f} s.",
            expected="every GPU of the run at work in training",
            why="its rank does nothing, or works elsewhere.",
            fix="look at that rank's LOCAL_RANK, CUDA_VISIBLE_DEVICES and stack.",
        )


def _sampled(*nodes: "tuple[str, int, tuple[float, ...]]") -> list:
    """A node's name, its samples' lag behind the others' in seconds, its GPUs' use; a look at the GPUs is in every
    third sample, as nodes send them."""
    events = []
    for name, lag, used in nodes:
        beat = {"phase": "training", "step": 3, "total_steps": 1000}
        events += [
            {"at": float(t), "kind": "beat", "node": name, "rank": 0, "data": beat} for t in range(1, 130)
        ]
        gpus = [{"uuid": f"GPU-{name}{n}", "index": n, "utilization": value} for n, value in enumerate(used)]
        for number, at in enumerate(range(2 + lag, 130, 5)):
            data = {"gpus": gpus} if number % 3 == 0 else {"memory_total_bytes": 1}
            events.append({"at": float(at), "kind": "sample", "node": name, "data": data})
    return sorted(events, key=lambda event: event["at"])


FIRES = [
    {"events": _sampled(("a", 0, (97.0, 0.0)))},
    {"events": _sampled(("a", 0, (97.0,)), ("b", 5, (0.0,)))},
    {"events": _sampled(("a", 0, (97.0,)), ("b", 10, (0.0,)))},
]
SILENT = [
    {"events": _sampled(("a", 0, (97.0, 60.0)))},
    {"events": _sampled(("a", 0, (0.0,)), ("b", 5, (0.0,)))},
    {"events": _sampled(("a", 0, (97.0, 0.0)))[:55]},
]
