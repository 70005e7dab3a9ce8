"""CUDA was used before a process was forked.

## How it is found
`Cannot re-initialize CUDA in forked subprocess. To use CUDA with multiprocessing, you must use the
'spawn' start method`.

Easily confused with dataloader-worker-killed, whose worker was killed.

## Why it matters
CUDA does not survive a fork: a worker of a data loader or of `datasets.map` touched the GPU after the
parent had.

## What to do
Keep tensors on the CPU in data loaders and map functions, or start workers with `spawn`
(`multiprocessing_context='spawn'`). Do not touch CUDA before the launcher forks.

## Source
PyTorch 2.13 raises `Cannot re-initialize CUDA in forked subprocess` in `torch/cuda/__init__.py`. The other
texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.dataloader_worker_killed import CAUSE as DATALOADER_WORKER_KILLED

CAUSE = Cause(__name__, explains=(DATALOADER_WORKER_KILLED,))
PATTERNS = (
    Pattern("create new processes if CUDA is already initialized"),
    Pattern("in forked subprocess", r"(?i)re-?initialize CUDA in forked"),
    Pattern("CUDA initialized before forking"),  # numba
    Pattern("CUDA-capable device(s) is/are busy", weight=60),
)
