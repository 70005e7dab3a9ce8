"""A GPU failed.

## How it is found
`NVRM: Xid (PCI:*): n` with a number that tells of a failed GPU, link or firmware (46, 48, 62, 64, 74, 79, 94, 95, 109,
110, 119, 120, 136, 140, 143, 156, 158, and 154 if it asks for a reset), `fallen off the bus`, `uncorrectable ECC error
encountered`, `CUDA error: unspecified launch failure` or `unknown error` on one local rank alone.

Easily confused with rank-crashed-first, for an illegal memory access of the program.

## Why it matters
The hardware (memory, NVLink, PCIe, GSP) failed under the rank; it will fail again on that GPU. Xid 13, 31 and 43 are
mostly the program's own errors.

## What to do
Drain the node, look at `dmesg -T | grep Xid` and `nvidia-smi -q`, reset or replace the GPU; start without
that node.

## Source
NVIDIA's Xid catalog explains the numbers: docs.nvidia.com/deploy/xid-errors. NVIDIA's open kernel modules
595.45.04 show the form of `NVRM: Xid` in `kern_gpu_error_cont_ga100.c` and print `RmInitAdapter failed` in
`osinit.c`, `fallen off the bus` in `osapi.c` and `GPU is lost` in `nv-mmap.c`. The other texts are as
people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

import re

from allranks.core import xids
from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import CRASH, PROVEN, WEAK, Pattern

NO_CRASH = "|".join(
    str(n) for n, row in xids.XIDS.items() if row.severity != xids.FAILED or n == xids.RECOVERY_ACTION
)
CAUSE = Cause(
    __name__,
    restart=PASSES,
    repeats_on="rank",
    resets_gpu=True,
    kernel=re.compile(
        r"NVRM: Xid \((?:PCI:)?(?P<bus>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2})[^)]{0,20}\)"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:NVRM|[Xx][Ii][Dd]s?|SXid|GPU_IS_LOST|ECC|NVLink|nvlink|remapp(?:ed|ing)|RmInit\w{0,20}"
        r"|double.bit|DBE|fallen off|GSP|page retirement|pending retire\w{0,6}|thermal"
        r"|PCIe? [Bb]us [Ee]rror|AER|MCE|Hardware Error)\b|(?i:\bgpus? (?:\w{1,6} )?(?:lost|loss|gone"
        r"|missing|disappear\w{0,4}|dropped)\b|\b(?:lost|loses?|losing|missing) (?:\w{1,10} ){0,2}gpus?\b"
        r"|\u6389\u5361|\u663e\u5361.{0,6}\u4e22\u5931)"
    ),
    settles=(
        r"(?i)\brow remapp\w{2,4} fail|\bfallen off the bus|\bxid\W{1,3}(?:error )?\d|\buncorrectable "
        r"(?:ecc|nvlink|error)"
        r"|\bdouble.bit|\bgpu is (?:lost|in a bad state)"
    ),
)
PATTERNS = (
    Pattern("RmInitAdapter failed", weight=98),
    Pattern("rm_init_adapter failed", weight=98),
    Pattern("NVRM: Xid", xids.pattern(xids.FAILED)),
    # Xids of program errors and of corrected errors are lighter than an exception, which tells more.
    Pattern("NVRM: Xid", rf"Xid \([^)]{{1,40}}\): (?!(?:{NO_CRASH})\b)", weight=CRASH),
    Pattern("NVRM: Xid", weight=WEAK),
    Pattern("fallen off the bus", weight=PROVEN),
    Pattern("uncorrectable ECC error", weight=PROVEN),
    Pattern("uncorrectable NVLink error", weight=PROVEN),
    Pattern(
        "Cuda failure",
        r"Cuda failure \d{0,4} ?'(?:uncorrectable|unknown error|hardware)",
    ),
    Pattern("GPU is lost", weight=PROVEN),
    Pattern("NVMLError_GpuIsLost", weight=PROVEN),
    Pattern("NVML_ERROR_GPU_IS_LOST", weight=PROVEN),
    Pattern("device handle for GPU", r"Unable to determine the device handle for GPU"),
    Pattern("CUDA error: unknown error", weight=80),
    Pattern("hardware stack error", weight=80),
    Pattern("ERROR_DEVICE_LOST", weight=90),  # Level Zero, Vulkan
    Pattern("GPU HANG", r"GPU HANG: ecode", weight=90),  # i915
    Pattern("CUDA_ERROR_CONTAINED", weight=96),
)
