"""A GPU is taken by somebody else

## What is seen
`CUDA error: all CUDA-capable devices are busy or unavailable`, `CUDA_ERROR_DEVICE_UNAVAILABLE`.

## Why it matters
The GPU's compute mode is exclusive and another process holds it, or it waits for a reset.

## What to do
`nvidia-smi` shows the processes and the compute mode (`-q -d COMPUTE`). Wait for its owner or take
another GPU; one process a GPU, so look for a launch that started two.

## Confused with
duplicate-gpu, where NCCL finds two ranks on one GPU; xid-gpu-fault.
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
PATTERNS = (
    Pattern("devices are busy or unavailable"),
    Pattern("CUDA_ERROR_DEVICE_UNAVAILABLE"),
)
