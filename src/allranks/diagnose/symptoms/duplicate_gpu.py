"""Two ranks use one GPU

## What is seen
NCCL up to 2.28: `Duplicate GPU detected : rank * and rank * both on CUDA device *` (the device is a PCI bus
id in hex); from 2.30: `Multiple Ranks are using the same GPU/Partition`. torch wraps it as
ncclInvalidUsage, old versions as ncclInternalError.

## Why it matters
NCCL refuses two ranks on one GPU: no collective can start. NCCL compares host and bus id, so equal bus ids
on different hosts are not it.

## What to do
One process a GPU: start with torchrun, call torch.cuda.set_device(LOCAL_RANK) before any CUDA or NCCL call,
list no machine twice, and give trainer and rollout engine different GPUs.

## Confused with
cuda-oom, where the message says GPU 0 on a rank whose local rank is not 0.
"""

from __future__ import annotations

from allranks.diagnose.symptom import Pattern

ROLE = "P"
EXPLAINS = ("nccl-remote-process-exited", "collective-timeout-straggler", "cuda-oom")
PATTERNS = (
    Pattern(
        "Duplicate GPU detected",
        r"rank (?P<rank>\d{1,12}) and rank (?P<other>\d{1,12}) both on CUDA device (?P<device>\w{1,60})|Dup",
    ),
    Pattern("Ranks are using the same GPU"),
    Pattern("ranks on the same GPU"),
)
