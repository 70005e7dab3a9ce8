"""Nothing is wrong

## What is seen
Warnings that healthy runs print: `The client socket has failed to connect to [localhost]` (IPv6 is tried
first), `The hostname of the client socket cannot be retrieved. err=-3`, `Setting OMP_NUM_THREADS`, NCCL's
`No device found` and `ncclNetPlugin` not found, `Installed CUDA version * does not match ... accepting`;
then training steps.

## Why it matters
No line names an error that ended anything; the warnings among them are printed by healthy runs too.

## What to do
Nothing.

## Confused with
A run that stands still or lost its machine without a word: a log that does not show the training's end
(`train_runtime`, `Training completed`) cannot be told from one that was cut off, so that this is only likely.
"""

from __future__ import annotations

from typing import Optional

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import Case, Hit, Pattern

ROLE = "P"
WEIGHT = 1
PATTERNS = (
    Pattern("process group ready", weight=WEIGHT),
    Pattern("Init COMPLETE", weight=WEIGHT),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Progress, and no rank that ended with an error; any other case outweighs it."""
    started = seen.hits.get("benign-noise", [])
    if not (seen.steps or seen.finished or started) or any(e.code for e in seen.exits):
        return None
    hits = list(started[:1])
    if seen.last_step is not None:
        order, line = seen.last_step
        hits.insert(0, Hit("benign-noise", WEIGHT, line, order, seen.now(line), seen.steps))
    return Case("benign-noise", WEIGHT, tuple(hits), "certain" if seen.ended_well else "likely")


FIRES = (
    "gpu-node-01: [W1120 23:27:05.448 socket.cpp:207] [c10d] The hostname of "
    "the client socket cannot be retrieved. err=-3\n"
    "gpu-node-01: [2026-11-20 23:27:10] [rank0] step 7 loss 2.8500 lr 1e-4\n",
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [localhost]:29500 (errno: 99).\n"
    "{'loss': 2.31, 'grad_norm': 0.7, 'learning_rate': 1e-05, 'epoch': 0.1}\n",
)
SILENT = (
    "[rank0] step 7 loss 2.85\n[rank0]: Traceback (most recent call last):\n[rank0]: KeyError: 'labels'\n",
)
