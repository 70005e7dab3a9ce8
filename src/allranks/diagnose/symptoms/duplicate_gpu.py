"""Two ranks use one GPU.

## How it is found
NCCL up to 2.28: `Duplicate GPU detected : rank * and rank * both on CUDA device *` (the device is a PCI bus
id in hex); from 2.30: `Multiple Ranks are using the same GPU/Partition`. torch wraps it as
ncclInvalidUsage, old versions as ncclInternalError. While a run is watched: two living ranks report the same machine
and the same GPU (its UUID, else its PCI bus id).

Easily confused with cuda-oom, where the message says GPU 0 on a rank whose local rank is not 0.

## Why it matters
NCCL refuses two ranks on one GPU: no collective can start. With gloo both train at half speed in half the memory.
Equal bus ids on different hosts are normal and are not reported.

## What to do
Start one process per GPU: use torchrun, and call torch.cuda.set_device(LOCAL_RANK) before any CUDA or NCCL call.
Do not list a machine twice, not under another name either. Give trainer, rollout engine and a second run different
GPUs.

## Source
NCCL 2.18.3 to 2.26.2 print `Duplicate GPU detected` in `src/init.cc`; NCCL 2.30.7 prints `Multiple Ranks
are using the same GPU` there. The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.cuda_oom import CAUSE as CUDA_OOM

CAUSE = Cause(__name__, explains=(CUDA_OOM,))
PATTERNS = (
    Pattern("both on CUDA device", r"(?i)rank \d{1,6} and rank \d{1,6} both on CUDA device", weight=98),
    Pattern("Duplicate GPU detected"),
    Pattern("Ranks are using the same GPU"),
    Pattern("ranks on the same GPU"),
)
