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
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.dataloader_worker_killed import CAUSE as DATALOADER_WORKER_KILLED

CAUSE = Cause(__name__, explains=(DATALOADER_WORKER_KILLED,))
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:fork(?:s|ed|ing)?|sub-?process(?:es)?|child process(?:es)?)\b.{0,80}\b(?:cuda|gpu)\b.{0,40}"
        r"\b(?:initiali[sz]\w{1,5}|context|already)|\bcuda\b.{0,80}\bfork(?:s|ed|ing)?\b"
        r"|\bcuda (?:has been|was|is) (?:already )?initiali[sz]ed (?:before|in the (?:parent|main))"
    ),
)
PATTERNS = (
    Pattern("create new processes if CUDA is already initialized"),
    Pattern("in forked subproc", r"(?i)re-?initialize \w{3,4} in forked"),
    Pattern("CUDA initialized before forking"),  # numba
    Pattern("CUDA has been initialized before the"),  # accelerate
    Pattern("any instruction using `torch.cuda`", weight=94),
    Pattern(  # what the driver answers in a child
        "initialization error",
        r"(?i)(?:cuda\w{0,40}(?: runtime)?(?: error)?(?: ?\(3\))? ?[:,] ?|CUDA_ERROR_NOT_INITIALIZED: "
        r"|error ?= ?3 ?: "
        r"|cuInit failed: |(?:loader|worker|process|fork)\w{0,4}\b.{0,60}\bcuda )initialization error",
        weight=90,
        without=("GetDeviceCount", "nvml", "container"),
    ),
    Pattern("CUDA_ERROR_NOT_INITIALIZED", weight=90),
    Pattern("CUDA-capable device(s) is/are busy", weight=60),
)
