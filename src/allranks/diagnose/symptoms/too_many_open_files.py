"""The limit of open files is reached.

## How it is found
`Too many open files`, `received 0 items of ancdata`, mostly from data loader workers that pass tensors as
file descriptors.

Easily confused with shm-too-small, whose lines name shared memory as well.

## Why it matters
Every shared tensor costs a descriptor; the limit (`ulimit -n`, often 1024) is reached and loading stops,
sometimes in a hang.

## What to do
Raise the limit (`ulimit -n 65536`, LimitNOFILE, `--ulimit nofile`), or
torch.multiprocessing.set_sharing_strategy("file_system").

## Source
`Too many open files` is glibc's text for EMFILE, `sysdeps/gnu/errlist.h`. PyTorch 2.13 knows it and
`received 0 items of ancdata` in `torch/utils/data/dataloader.py`.

Topic: nodes
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.dataloader_worker_killed import CAUSE as DATALOADER_WORKER_KILLED
from allranks.diagnose.symptoms.shm_too_small import CAUSE as SHM_TOO_SMALL

CAUSE = Cause(
    __name__,
    explains=(
        SHM_TOO_SMALL,
        DATALOADER_WORKER_KILLED,
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\btoo many open|\bEMFILE\b|\bulimit -n|\bfile descriptors?.{0,30}(?:limit|exhaust|exceed)"
        r"|(?:limit|out|maximum)\b.{0,30}\bfile descriptors?\b|\bnofile\b|\binotify"
    ),
)
PATTERNS = (
    Pattern("Too many open files"),
    Pattern("items of ancdata"),
)
