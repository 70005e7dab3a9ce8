"""Another process uses a GPU that the run needs.

## How it is found
Before the launch: nvidia-smi lists a process on a GPU of the run. Or the GPU's memory is in use although no
process is shown, because it runs in another container or hangs in the driver. The finding names each process and
its user.

In logs: `CUDA error: all CUDA-capable devices are busy or unavailable` (`CUDA-capable device(s) is/are busy` in
new versions), `CUDA_ERROR_DEVICE_UNAVAILABLE`.

Easily confused with duplicate-gpu, where NCCL finds two ranks on one GPU; xid-gpu-fault.

## Why it matters
Two jobs on one GPU run out of memory or train at half speed. If the GPU's compute mode is exclusive, or the GPU waits
for a reset, the rank fails at its first CUDA call.

## What to do
Run `nvidia-smi` on the node: it shows the processes, and `nvidia-smi -q -d COMPUTE` the compute mode. End an earlier
run of allranks with `allranks stop` or `allranks clean`. allranks never touches another user's process: ask its owner,
or use other GPUs. If you start ranks yourself, start one process per GPU. A display server on GPU 0 of a workstation
is only a note.

## Source
nvidia-smi `processes` and `fb_memory_usage`. In logs, PyTorch's `c10/cuda/CUDAException.cpp` prints `CUDA
error:` and the text that CUDA gives for the error code, as people posted it in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:gpus?|devices?) (?:is |are )?(?:busy|already in use|occupied)|\bexclusive[-_ ]process"
        r"|\bcompute mode"
    ),
)
PATTERNS = (
    Pattern("busy or unavailable", r"device(?:s|\(s\)) (?:is/)?are busy or unavailable"),
    Pattern("CUDA_ERROR_DEVICE_UNAVAILABLE"),
)
