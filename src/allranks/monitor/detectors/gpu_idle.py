"""A GPU idles while others work.

## How it is found
In training a GPU was used less than 5 % at each of the last 20 samples (one each 15 s: five minutes), while the
run's other GPUs were used at half of their samples or more. A run whose steps have a part on the CPU (offload,
rollouts) leaves all its GPUs idle in some samples, but no GPU in all of them. After the last step the GPUs are not
compared, because one rank may work alone then.

## Why it matters
The rank does nothing, or it works on the CPU or on another rank's GPU; the run waits for it.

## What to do
Look at that rank's device (LOCAL_RANK, CUDA_VISIBLE_DEVICES) and at its stack.

Topic: gpus
"""

from __future__ import annotations

from collections import deque
from typing import Any, Deque, Dict, Iterator, List, Optional

from allranks.core import WARN, Finding, Where
from allranks.monitor.aggregation import apart, gpus_named
from allranks.monitor.hang_thresholds import has_trained
from allranks.monitor.node_event_handlers import GPUS_GAP_SECONDS, gpu_name
from allranks.monitor.rank_records import IDLE_PERCENT, NodeState
from allranks.monitor.run_state import RunState

LOOKS = 20
"""Only samples in which all ranks train count: one rank may evaluate alone for long while the other GPUs wait for
it."""

BUSY_SHARE = 0.5
"""The share of samples in which the other GPUs must be used. nvidia-smi reports the last second or less. If half of
each step runs on the CPU, every second sample shows an idle GPU; 20 such samples in a row happen by chance once in a
million."""

OLD_SECONDS = 45.0
"""Three samples in a row did not come: the GPU's present state is unknown."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    training = run.ranks and all(r.phase == "training" for r in run.ranks.values() if r.alive)
    judged = bool(not run.quiet and training and run.step >= 1 and not has_trained(run))
    memory = run.memory_of("gpu-idle")
    for name, node in run.nodes.items():
        _take(node, memory.setdefault(name, {}), judged)
    if not judged:
        return
    known = {r.uuid: r.rank for r in run.ranks.values() if r.alive and r.uuid}
    shares, idle = [], {}
    for name, node in run.nodes.items():
        if node.gpus_at is None or now - node.gpus_at > OLD_SECONDS:
            continue
        for gpu in map(gpu_name, node.gpus):
            looks = memory[name]["busy"].get(gpu, ())
            if len(looks) < LOOKS or (known and gpu not in known):
                continue
            if any(looks):
                shares.append(sum(looks) / len(looks))
            else:
                idle.setdefault(name, []).append(gpu)
    if not shares or sum(shares) / len(shares) < BUSY_SHARE:
        return  # if all are idle, the cause is not one GPU
    for name, gpus in idle.items():
        for some in apart(gpus):
            yield _finding(name, some, known.get(some[0]) if len(some) == 1 else None)


def _take(node: NodeState, kept: Dict[str, Any], judged: bool) -> None:
    """Notes for each GPU of a new sample whether it was used."""
    at, before = node.gpus_at, kept.get("at")
    if at is None or at == before:
        return
    kept["at"] = at
    if before is None or at - before > GPUS_GAP_SECONDS:
        kept["busy"] = {}
    busy: Dict[str, Deque[bool]] = kept["busy"]
    for gpu in node.gpus if judged else ():
        if gpu.utilization is not None:  # nvidia-smi does not report it for a slice
            busy.setdefault(gpu_name(gpu), deque(maxlen=LOOKS)).append(gpu.utilization >= IDLE_PERCENT)


def _finding(node: str, gpus: List[str], rank: Optional[int]) -> Finding:
    which = f"{gpus_named(gpus)} {'was' if len(gpus) == 1 else 'were'}"
    return Finding(
        id="gpu-idle",
        verdict=WARN,
        where=Where(node=node, rank=rank),
        saw=f"{which} used less than {IDLE_PERCENT:.0f} % in each of the last {LOOKS} samples.",
        expected="every GPU of the run at work in training",
        why="its rank does nothing, or works elsewhere.",
        fix="look at that rank's LOCAL_RANK, CUDA_VISIBLE_DEVICES and stack.",
    )
