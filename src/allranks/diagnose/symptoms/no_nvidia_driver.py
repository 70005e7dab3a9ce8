"""No GPU is visible.

## How it is found
`Found no NVIDIA driver on your system`, `No CUDA GPUs are available`, `ProcessGroupNCCL is only supported
with GPUs, no GPUs found!`, `nccl2 requires at least one CUDA device`, `Failed to initialize NVML: Driver/library
version mismatch`, `CUDA unknown error - this may be due to an incorrectly set up environment`.

Easily confused with `No CUDA runtime is found, using CUDA_HOME=...`, which is only a warning of the extension
builder.

## Why it matters
The NCCL backend cannot run there: a container without its GPUs, an empty CUDA_VISIBLE_DEVICES, no driver, or a driver
that was updated while the old kernel module is still loaded (restart the node).

## What to do
Start the container with its GPUs (`--gpus all`, the NVIDIA runtime), look at CUDA_VISIBLE_DEVICES and
`nvidia-smi` on that node.

## Source
PyTorch raises `Found no NVIDIA driver on your system`, `No CUDA GPUs are available` and `CUDA unknown
error` in `c10/cuda/CUDAFunctions.cpp`. NVIDIA's open kernel modules 595.45.04 print `API mismatch` in
`src/nvidia/arch/nvalloc/unix/src/osapi.c`. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.half_precision_unavailable import (
    CAUSE as HALF_PRECISION_UNAVAILABLE,
)

CAUSE = Cause(__name__, explains=(HALF_PRECISION_UNAVAILABLE,))
CLAIM = Claim(
    subject=(
        r"(?i)\bno (?:available |usable |visible |cuda |nvidia ){0,3}(?:gpus?|cuda devices?|accelerators?)\b"
        r"|\b(?:gpu|cuda|accelerator)s? (?:is |are |was )?(?:not|n't|un) ?(?:be )?(?:available|found|detected"
        r"|visible)"
        r"|\b(?:requires?|needs?) (?:at least )?(?:a|an|one|\d{1,3}) (?:usable |available |cuda |nvidia "
        r"|cuda-capable ){0,3}"
        r"(?:gpus?|cuda devices?)\b|\bcpu (?:training|mode|only|inference) (?:is )?not (?:allowed|supported)"
        r"|(?:\b(?:cannot|can't|not|unable to|fails? to|failed to)|n['’]t) (?:find|detect|see|have"
        r"|recogni[sz]e|detecting|seeing|finding) "
        r"(?:any |a |the |my |your |our )?(?:nvidia )?(?:gpus?|cuda)\b(?! (?:toolkit|version|home|compiler"
        r"|extension|kernel))|\bonly (?:run|runs"
        r"|works?) on (?:a )?gpus?\b"
        r"|\bcuda\.(?:is_)?available\(\)|\bgpu is required"
    ),
    settings=True,
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bnvidia[-_ ](?:smi|driver|uvm|modprobe|drm|kernel|dkms)|\bnvml\w{0,40}|\blibcuda\b"
        r"|\bcuda (?:driver|devices?|capable|gpus?)\b|\bno (?:cuda |nvidia )?gpus?\b|cudaGetDeviceCount"
        r"|cuInit|CUDA_ERROR_NO_DEVICE|\bgpus? (?:is |are |was )?not (?:be )?(?:found|available|detected)"
        r"|\bgpu driver|^no devices were found|\b(?:did not detect|cannot find|no) {0,2}(?:any |usable )?gpus?\b"
    ),
)
PATTERNS = (
    Pattern("installed in this system is not supported by", weight=96),
    Pattern("NVRM: API mismatch", weight=98),
    Pattern("Module nvidia not found", weight=96),
    Pattern("no NVIDIA driver on your system"),
    Pattern("No CUDA GPUs are available"),
    Pattern("no GPUs found"),
    Pattern("requires at least one CUDA device"),
    Pattern("no CUDA-capable device is detected", without=("to cuInit",)),
    # TensorFlow, which then computes on the CPU.
    Pattern("failed call to cuInit", r"CUDA_ERROR_NO_DEVICE", weight=WEAK + 5),
    Pattern("NVIDIA-SMI has failed", weight=90),
    Pattern("Failed to initialize NVML", weight=90),
    Pattern(
        "NVML_ERROR_",
        r"NVML_ERROR_(?:DRIVER_NOT_LOADED|LIB_RM_VERSION_MISMATCH|LIBRARY_NOT_FOUND)",
        weight=90,
    ),
    Pattern("NVMLError_", r"NVMLError_(?:DriverNotLoaded|LibRmVersionMismatch|LibraryNotFound)", weight=90),
    Pattern("nvml error", r"driver not loaded|driver/library version mismatch", weight=98),
    Pattern("to deserialize object on a CUDA device", r"torch\.cuda\.is_available\(\) is False", weight=90),
    Pattern("No supported gpu backend found", weight=94),
    Pattern("But your machine only has", r"only has: \[\]", weight=94),
    Pattern("GPU count is", r"GPU count is: 0\b", weight=94),
    Pattern("Failed to infer device type", weight=80),
    Pattern("Device string must not be empty", weight=80),
    Pattern("no device can be used", weight=80),
    Pattern("CUDA unknown error", r"incorrectly set up environment", weight=90),
)
