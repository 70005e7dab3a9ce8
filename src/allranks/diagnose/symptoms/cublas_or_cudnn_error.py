"""A CUDA library refused a call.

## How it is found
`CUBLAS_STATUS_EXECUTION_FAILED`, `CUBLAS_STATUS_NOT_INITIALIZED`, `CUBLAS_STATUS_INVALID_VALUE`, `cuDNN
error: CUDNN_STATUS_*`, `cusolver error`, `GET was unable to find an engine to execute this computation`.

Easily confused with cuda-oom (`CUBLAS_STATUS_ALLOC_FAILED`), cuda-device-assert.

## Why it matters
Often the echo of something else: an index out of range in an earlier kernel, a GPU without free memory,
or two versions of the library in one process.

## What to do
First `CUDA_LAUNCH_BLOCKING=1`: an earlier assertion or lack of memory then shows itself. Then one CUDA
only: unset LD_LIBRARY_PATH to another CUDA, and reinstall `nvidia-cublas-*` and `nvidia-cudnn-*` with
torch.

## Source
PyTorch 2.13 raises `cusolver error` in `ATen/cuda/Exceptions.h` and compares with `CUBLAS_STATUS_SUCCESS`
there. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
_LIBRARY = (
    r"(?i)(?<![\w/.])(?:cublas\w{0,30}|cudnn\w{0,40}|cusolver\w{0,20}|cusparse\w{0,20}|cufft\w{0,20})\b"
    r"(?!\.so|\.dll|\d{0,3}_\d{1,3}\.dll)"
)
CLAIM = Claim(subject=_LIBRARY)
COMPLAINT = Complaint(subject=_LIBRARY)
PATTERNS = (
    Pattern("CUBLAS_STATUS", r"CUBLAS_STATUS_(?!ALLOC_FAILED|SUCCESS)[A-Z_]{4,40}", weight=88),
    Pattern("CUDNN_STATUS", r"CUDNN_STATUS_(?!SUCCESS)[A-Z_]{4,60}", weight=88),
    Pattern("cusolver error", weight=88),
    Pattern("cublas runtime error", weight=86),  # torch before 1.8
    Pattern("unable to find an engine", weight=86),
    Pattern("valid cuDNN algorithm", weight=86),
    Pattern("CUSOLVER_STATUS", weight=88),
    Pattern("cuDNN version incompatibility", weight=92),
    Pattern("library needs to have matching major version", r"(?i)cudnn library needs", weight=88),
    Pattern("cublasLt ran into an error", weight=88),
    Pattern("execution plans", r"[Nn]o (?:valid )?execution plans (?:built|support)", weight=86),
)
