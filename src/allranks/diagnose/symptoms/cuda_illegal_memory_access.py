"""A kernel read or wrote memory that is not its own.

## How it is found
`CUDA error: an illegal memory access was encountered`, `misaligned address`, `invalid program counter`,
`Cuda failure 'an illegal memory access'`; other ranks end with communication errors.

Easily confused with cuda-device-assert, which prints an assertion; xid-gpu-fault, where the kernel's log
proves the GPU's fault.

## Why it matters
A kernel's fault, mostly of a custom, compiled or quantized one with shapes that it does not expect,
seldom of the GPU. The Python line that is named is only where the error surfaced.

## What to do
`CUDA_LAUNCH_BLOCKING=1` or `compute-sanitizer` names the kernel. Switch off fused and flash kernels one
after another, and bring torch, CUDA and the extension to versions that belong together. If it follows one
GPU, look at its Xids (`dmesg -T | grep Xid`).

## Source
PyTorch's `c10/cuda/CUDAException.cpp` prints `CUDA error:` and the text that CUDA gives for the error code.
The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
PATTERNS = (
    Pattern("illegal memory access", weight=96),
    Pattern("Illegal memory ", r"Illegal memory (?:access|error|address)", weight=94),
    Pattern("misaligned address", weight=94),
    Pattern("illegal instruction was encountered", weight=94),
    Pattern("CUDA_ERROR_ILLEGAL_ADDRESS", weight=96),
    Pattern("invalid program counter", weight=94),
    # A kernel that reads or writes where it must not; a broken GPU shows an Xid beside it, which is heavier.
    Pattern("unspecified launch failure", weight=80, without=("hip",)),
    Pattern("LAUNCH_FAILED", r"CUDA_ERROR_LAUNCH_FAILED", weight=80),
)
