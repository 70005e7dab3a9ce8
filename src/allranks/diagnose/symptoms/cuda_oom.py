"""A GPU has no memory left.

## How it is found
`CUDA out of memory. Tried to allocate` (class `OutOfMemoryError`, in `torch.cuda.` or `torch.`), `CUDA
error: out of memory`, NCCL's `Cuda failure 'out of memory'`. The other ranks then report communication
errors.

Easily confused with duplicate-gpu, where all ranks use GPU 0; cpu-oom-killed, which is the host's memory.

## Why it matters
The memory that this rank needs does not fit on its GPU, or another process uses part of it.

## What to do
`allranks plan` says what fits: a smaller micro-batch or cut-off length, gradient checkpointing, ZeRO-3 or
offload. First look whether another process holds memory (`nvidia-smi`), and whether `GPU n` is this rank's
own.

## Source
PyTorch raises `CUDA out of memory. Tried to allocate` as `OutOfMemoryError` in
`c10/cuda/CUDACachingAllocator.cpp`. NCCL 2.30.7 prints `Cuda failure` in `src/include/checks.h` and `Failed
to CUDA` in `src/include/alloc.h`. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import AFTER_A_STEP, Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__, restart=AFTER_A_STEP)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:cuda|gpu|device|hbm|vram|npu|hip)\b.{0,60}out of memory|\bout of (?:gpu|device|cuda"
        r"|hbm) memory"
        r"|\b(?:no|not|n't|insufficient|enough|negligible|little|exceeds?)\b.{0,40}\b(?:gpu|device|cuda|hbm"
        r"|vram) memory\b"
        r"|\b(?:gpu|device|cuda|hbm|vram) memory\b.{0,40}\b(?:exhausted|insufficient|not enough|exceed\w{0,3}"
        r"|too small)\b"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:cuda|gpu|device|hbm|vram|npu|hip|gpu device)\b.{0,60}out of memory|\bout of (?:gpu"
        r"|device|cuda|hbm|video) memory|\bcudaMalloc\w{0,8}|\bcuda oom|\boom on (?:gpu|device)"
        r"|\u663e\u5b58(?:\u4e0d\u8db3|\u6ea2\u51fa)|\u7206\u663e\u5b58"
        r"|^(?!.{0,200}\b(?:cpu|ram|host|system|container|pod|cgroup|kill\w{0,5}|slurmstepd|dataloader|workers?"
        r"|avoid\w{0,3}|prevent\w{0,3}|reduc\w{1,3}|handl\w{1,3}|until|if)\b)"
        r".{0,200}(?<![A-Za-z])(?-i:OOM)(?:s|ed)?(?![\w-])"
    ),
)
PATTERNS = (
    Pattern("out of memory. Tried to allocate", r"Tried to allocate(?:.{1,60}GPU (?P<gpu>\d{1,3})\b)?"),
    Pattern("CUDA error: out of memory"),
    Pattern("OutOfMemoryError", r"torch\.(?:cuda\.)?OutOfMemoryError"),
    Pattern("Cuda failure", r"(?i)cuda failure (?:2\b|'?out of memory)"),
    Pattern("CUBLAS_STATUS_ALLOC_FAILED", weight=90),
    Pattern("CUDA_ERROR_OUT_OF_MEMORY"),
    Pattern("cudaErrorMemoryAllocation", weight=92),
    Pattern(
        "out of memory",
        r"(?:CUDA|HIP|NPU|XPU|MPS|MUSA|MLU|ROCm|cuMemCreate|cudaMalloc).{0,60}out of memory",
        weight=90,
    ),
    Pattern("RESOURCE_EXHAUSTED", r"(?i)out of memory|allocat|\bhbm\b|exceeds", weight=96),
    Pattern("ran out of memory trying to allocate", weight=96),
    Pattern(
        "ERROR_OUT_OF_", r"(?:UR|ZE|PI)_(?:RESULT_)?ERROR_OUT_OF_(?:DEVICE_MEMORY|RESOURCES)", weight=90
    ),  # SYCL
    Pattern("OOM when allocating tensor", weight=96),
    Pattern("Failed to CUDA", r"Failed to CUDA (?:c|m|host )?alloc", weight=WEAK),
)
