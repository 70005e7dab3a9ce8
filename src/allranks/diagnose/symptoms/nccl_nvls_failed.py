"""NVLink SHARP could not be set up.

## How it is found
`transport/nvls.cc:* NCCL WARN Cuda failure`, `Failed to bind NVLink SHARP (NVLS) Multicast memory`, `CUDA
error in NVLS`, `cuMulticastCreate`.

Easily confused with cuda-oom: the text may say `out of memory` though the GPU is empty;
fabric-manager-not-running.

## Why it matters
NCCL reserves multicast memory in the NVSwitches; a Fabric Manager in a bad state, too many communicators, or a
container without the rights can prevent it.

## What to do
`NCCL_NVLS_ENABLE=0` avoids it. To keep its speed: restart the Fabric Manager of that node (as its administrator),
install the same driver and Fabric Manager versions, and use fewer communicators at once.

## Source
NCCL 2.30.7 calls the `cuMulticast` functions in `src/transport/nvls.cc`; a warning names this file and the
function that failed.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.cuda_oom import CAUSE as CUDA_OOM

CAUSE = Cause(__name__, explains=(CUDA_OOM,))
COMPLAINT = Complaint(
    subject=r"\b(?:NVLS|nvls|IMEX|imex|multicast|MNNVL|cuMemCreate|cuMemImportFromShareableHandle)\b",
)
PATTERNS = (
    Pattern(
        "transport/nvls.cc",
        r"nvls\.cc:\d{1,6}.{0,40}(?i:WARN|error|fail)",
        without=("system not", "Cuda failure 802"),
    ),
    Pattern("NVLS", r"(?i)fail\w{0,3} .{0,60}(?:NVLS|NVLink SHARP)"),
    Pattern("cuMulticast", r"(?i)cuMulticast\w{1,20}.{0,80}(?:fail|error)"),
)
