"""The Fabric Manager of the NVSwitch machine does not run.

## How it is found
`Error 802: system not yet initialized` from CUDA, or NCCL's `Cuda failure 802`, while nvidia-smi works.

Easily confused with no-nvidia-driver.

## Why it matters
On NVSwitch machines CUDA waits for the Fabric Manager; it must be of the driver's exact version.

## What to do
Install and start nvidia-fabricmanager of the driver's exact version, look at `nvidia-smi -q` (Fabric:
State), restart the node if kernel module and driver differ.

## Source
NCCL 2.30.7 prints `Cuda failure` in `src/include/checks.h` with the text that CUDA gives for the error
code. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.no_nvidia_driver import CAUSE as NO_NVIDIA_DRIVER

CAUSE = Cause(__name__, explains=(NO_NVIDIA_DRIVER,))
COMPLAINT = Complaint(
    subject=r"(?i)\bfabric ?manager|\bnv-?switch|\bnvidia-fabricmanager",
)
PATTERNS = (
    Pattern("system not yet initialized"),
    Pattern("NVLink fabric is no", weight=94),
    Pattern("Cuda failure", r"Cuda failure (?:802\b|'system not)"),
    Pattern("Error", r"\bError 802\b"),
    Pattern("Fabric", r"(?i)fabric ?manager.{0,60}(?:not running|failed|mismatch|inactive)"),
)
