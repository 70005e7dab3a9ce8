"""The installed torch cannot use GPUs.

## How it is found
`Torch not compiled with CUDA enabled`, `module 'torch._C' has no attribute '_cuda_setDevice'`, `Distributed
package doesn't have NCCL built in`.

Easily confused with no-nvidia-driver: a torch with CUDA that finds no GPU. version-drift-transformers-peft:
another attribute that a module does not have.

## Why it matters
The script asks for a GPU or for NCCL, and this build of torch has neither: a CPU build was installed. GPUs and
their driver may be all right.

## What to do
Install the CUDA build of the same version (`pip install torch==... --index-url .../whl/cu126`). If training on
CPUs is meant: gloo as the backend, and no `.cuda()`, `set_device` or `nccl` in the script.

## Source
PyTorch 2.13 raises `Torch not compiled with CUDA enabled` in `torch/cuda/__init__.py` and `Distributed
package doesn't have NCCL built in` in `torch/distributed/distributed_c10d.py`. The other text is as people posted it
in public reports.

Topic: software
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import CRASH, Pattern
from allranks.diagnose.symptoms.half_precision_unavailable import (
    CAUSE as HALF_PRECISION_UNAVAILABLE,
)
from allranks.diagnose.symptoms.version_drift_transformers_peft import (
    CAUSE as VERSION_DRIFT_TRANSFORMERS_PEFT,
)

CAUSE = Cause(__name__, explains=(VERSION_DRIFT_TRANSFORMERS_PEFT, HALF_PRECISION_UNAVAILABLE))
_LACKS = (
    r"(?i)^(?!.{0,200}\b(?:bitsandbytes|bnb|xformers|apex|mmcv|horovod|torchvision|flash[-_]?att\w{0,6}"
    r"|detectron2?)\b).{0,300}?"
    r"(?:\b(?:not|n't) (?:been )?(?:compiled|built) with (?:cuda|gpu|nccl|xpu|npu|rocm|nvidia)(?! kernel)"
    r"|\b(?:compiled|built) without (?:cuda|gpu|nccl)|\bcpu[- ]only (?:version|build|wheel|package|torch"
    r"|pytorch|paddle)"
    r"|\bUSE_(?:CUDA|GPU|NCCL)=(?:1|ON)\b|\btorch\S{0,30}\+cpu\b|\btorch\.version\.cuda (?:is|returns|was) none"
    r"|\bcpu version of (?:py)?torch)"
)
CLAIM = Claim(subject=_LACKS, settles=_LACKS)
COMPLAINT = Complaint(subject=_LACKS, settles=_LACKS)
PATTERNS = (
    Pattern("Place CUDAPlace", r"CUDAPlace\(\d{1,3}\) is not supported", weight=90),  # PaddlePaddle
    Pattern("Torch not compiled with CUDA enabled"),
    Pattern(
        "has no attribute",
        r"module 'torch\._C' has no attribute '_cuda_\w{1,80}'",
        weight=CRASH + 6,
        raised=True,
    ),
    Pattern(
        "with arguments from the",
        r"Could not run 'aten::\w{1,60}(?:\.\w{1,40})?' with arguments from the 'CUDA' backend",
        weight=90,
    ),
    Pattern("Torch not compiled with", r"Torch not compiled with [A-Z]{3,8} enabled"),
    Pattern("built with CUDA", r"(?i)\bbuilt with CUDA ?[:=] {0,12}(?:False|No)\b", weight=94),
    Pattern("have NCCL built in", r"Distributed package doesn't have NCCL built in"),
)
