"""No GPU is visible.

## How it is found
`Found no NVIDIA driver on your system`, `No CUDA GPUs are available`, `ProcessGroupNCCL is only supported
with GPUs, no GPUs found!`, `nccl2 requires at least one CUDA device`.

Easily confused with `No CUDA runtime is found, using CUDA_HOME=...`, which is only a warning of the extension
builder.

## Why it matters
The NCCL backend cannot run there: a container without its GPUs, an empty CUDA_VISIBLE_DEVICES, or no
driver.

## What to do
Start the container with its GPUs (`--gpus all`, the NVIDIA runtime), look at CUDA_VISIBLE_DEVICES and
`nvidia-smi` on that node.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
PATTERNS = (
    Pattern("no NVIDIA driver on your system"),
    Pattern("No CUDA GPUs are available"),
    Pattern("no GPUs found"),
    Pattern("requires at least one CUDA device"),
    Pattern("no CUDA-capable device is detected"),
    Pattern("NVIDIA-SMI has failed", weight=90),
    Pattern("could not select device driver", r"capabilities: \[\[gpu\]\]"),
)
