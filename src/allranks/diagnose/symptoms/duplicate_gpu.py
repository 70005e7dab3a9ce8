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
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.cuda_oom import CAUSE as CUDA_OOM

CAUSE = Cause(__name__, explains=(CUDA_OOM,))
_DOUBLE = (
    r"(?i)\b(?:ranks?|process(?:es)?|workers?|trainers?)\b.{0,60}\b(?:same|one|a single|share (?:the|a)) (?:same )?"
    r"(?:cuda |physical |nvidia )?(?:gpus?|devices?|cards?)\b(?! (?:type|model|as the))"
    r"|\bsame (?:cuda |physical )?(?:gpu|card) .{0,60}\b(?:multiple|several|two|different|more than one|both) "
    r"(?:\w{1,12} )?(?:ranks|processes|times)\b"
    r"|\b(?:gpu|device|card) (?:is |are )?(?:used )?(?:multiple|several|two) times\b|\b(?:several|multiple"
    r"|two) ranks (?:\w{1,12} ){0,3}(?:one|a single|the same) (?:gpu|device)\b|\b(?:all|both|\d{1,3}) "
    r"(?:ranks|processes) (?:\w{1,12} ){1,4}(?:cuda:0|gpu ?0)\b"
)
CLAIM = Claim(subject=_DOUBLE, settles=_DOUBLE)
COMPLAINT = Complaint(subject=_DOUBLE, settles=_DOUBLE)
PATTERNS = (
    Pattern("both on CUDA device", r"(?i)rank \d{1,6} and rank \d{1,6} both on CUDA device", weight=98),
    Pattern("Duplicate GPU detected"),
    Pattern("Ranks are using the same GPU"),
    Pattern("ranks on the same GPU"),
)
