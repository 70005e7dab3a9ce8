"""An AMD GPU or ROCm's libraries failed.

## How it is found
`HIP error: invalid device function`, `hipErrorNoBinaryForGpu`, `Memory access fault by GPU node-*`,
`HSA_STATUS_ERROR*`, `amdgpu: … GPU reset`, `rocBLAS error`, `MIOpen Error`.

Easily confused with cuda-oom (`HIP out of memory`), which is the same on both.

## Why it matters
ROCm's counterpart of a CUDA error: a binary without code for this GPU, a kernel that touched memory that
is not its own, or a GPU that hung.

## What to do
`invalid device function`: a torch built for this gfx architecture (`rocminfo`),
`HSA_OVERRIDE_GFX_VERSION` only on cards that need it. A memory fault: `AMD_SERIALIZE_KERNEL=3` names the
kernel. A reset: `dmesg -T | grep amdgpu` and `rocm-smi` on the node.

## Source
ROCm's runtime prints `Memory access fault by GPU` in `core/runtime/runtime.cpp` (ROCR-Runtime). PyTorch
2.13 raises `HIP error:` in `ATen/miopen/Exceptions.h`. The other texts are as people posted them in public
reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:ROC[mM]|rocm\w{0,20}|HIP|hip[A-Z]\w{2,40}|hip(?:blas\w{0,6}|cc|fft|sparse)|HSA\w{0,60}"
        r"|hsa_\w{2,40}|[Rr]ccl|RCCL|amdgpu|MIOpen\w{0,20}|rocblas\w{0,20}|rocBLAS|kfd|gfx\d{1,4}\w{0,2}"
        r"|rocm-smi|amd-smi|rocdevice|AMDGPU|MI\d{2,3}X?)\b"
    ),
)
_ERRORS = (
    "NoBinaryForGpu", "InvalidDeviceFunction", "IllegalAddress", "LaunchFailure", "LaunchTimeOut", "Unknown",
    "InvalidImage", "InvalidKernelFile", "Assert", "ECCNotCorrectable", "SharedObjectInitFailed", "NotInitialized",
    "InvalidContext", "NotFound", "InvalidValue", "InvalidHandle", "NoDevice", "InvalidDevice", "Tbd",
    "InsufficientDriver", "LaunchOutOfResources",
)  # fmt: skip
"""Names of HIP's error codes, after `hipError`."""

PATTERNS = (
    Pattern("invalid device function", r"\.hip\b", weight=94),
    Pattern("hipSuccess", r"(?i)check failed: .{0,60}hipSuccess \(\d{1,4} vs", weight=94),
    Pattern("HIP error", r"HIP error: (?!out of memory)", weight=97),
    *(Pattern(f"hipError{name}", weight=97) for name in _ERRORS),
    Pattern("Memory access fault by GPU", weight=98),
    Pattern("HW Exception by GPU", weight=98),
    Pattern("HSA_STATUS_ERROR", weight=96),
    Pattern(
        "amdgpu", r"amdgpu.{0,80}(?:GPU reset|ring \w{1,20} timeout|page fault|uncorrectable)", weight=98
    ),
    Pattern("rocBLAS error", weight=94),
    Pattern("MIOpen Error", r"(?i)miopen error", weight=94),
    Pattern("HIP runtime error", weight=94),
    Pattern("No device code available for function", weight=90),
    Pattern("ROCk module is NOT loaded", weight=90),
    Pattern("ROCm error", r"ROCm error: (?!out of memory)", weight=94),  # llama.cpp
    Pattern("HIPBLAS_STATUS", r"HIPBLAS_STATUS_(?!SUCCESS|ALLOC_FAILED)[A-Z_]{4,40}", weight=92),
)
