"""The NVIDIA driver is older than the CUDA runtime.

## How it is found
`The NVIDIA driver on your system is too old (found version 12020)` (that is CUDA 12.2), `CUDA driver
version is insufficient for CUDA runtime version`. At import it is a warning; the crash comes later.

Easily confused with no-nvidia-driver, where there is none at all.

## Why it matters
torch cannot use the GPUs of that node.

## What to do
Install a newer driver on that node, or a torch that is built for the CUDA version that the driver knows. Use the same
versions on all nodes.

## Source
PyTorch raises `The NVIDIA driver on your system is too old` in `c10/cuda/CUDAFunctions.cpp`. The other
texts are CUDA's own, as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.half_precision_unavailable import (
    CAUSE as HALF_PRECISION_UNAVAILABLE,
)
from allranks.diagnose.symptoms.no_nvidia_driver import CAUSE as NO_NVIDIA_DRIVER

CAUSE = Cause(__name__, explains=(NO_NVIDIA_DRIVER, HALF_PRECISION_UNAVAILABLE))
_OLD = (
    r"(?i)\bdrivers?\b(?: version)?.{0,60}\b(?:older than|too old|insufficient|outdated|supports only|only supports"
    r"|does(?: not|n't) support cuda)\b|\bunsupported display driver|\b(?:update|upgrade) (?:your|the) "
    r"(?:nvidia |gpu |cuda )?driver"
    r"|\bbuilt for nvidia driver release|\b(?:newer|more recent) (?:nvidia |gpu |cuda )?driver"
)
CLAIM = Claim(subject=_OLD, settles=_OLD)
COMPLAINT = Complaint(subject=_OLD, settles=_OLD)
PATTERNS = (
    Pattern("driver on your system is too old", weight=90),
    Pattern("driver version is insufficient"),
    Pattern("forward compatibility was attempted", weight=90),
    Pattern("has unsupported display driver", weight=92),
    Pattern("compatibility mode is UNAVAILABLE", weight=88),
    Pattern("compiled with an unsupported", r"compiled with an unsupported (?:PTX )?toolchain", weight=92),
)
