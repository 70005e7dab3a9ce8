"""/dev/shm is too small.

## How it is found
`Unexpected bus error encountered in worker`, exit code -7 (SIGBUS), `unable to allocate shared memory(shm)
for file </torch_*>`, `unable to write to file </torch_*>`, NCCL's `Error while creating shared memory
segment`.

Easily confused with disk-full-checkpoint, which names no `/torch_` and no `/dev/shm`;
dataloader-worker-killed.

## Why it matters
Data loader workers and NCCL pass data through /dev/shm; a container has 64 MB of it unless told otherwise. "No space
left on device" there does not mean the disk.

## What to do
`--shm-size 16g` or `--ipc host` for the container (with `--ipc host` a `--shm-size` does nothing), an
emptyDir of medium Memory in Kubernetes, or fewer workers.

## Source
PyTorch raises `unable to write to file` and `unable to resize file` in `aten/src/ATen/MapAllocator.cpp`. It
prints `Unexpected bus error encountered in worker` in `torch/csrc/DataLoader.cpp`. NCCL 2.30.7 prints
`Error while creating shared memory segment` in `src/os/linux.cc`. `No space left on device` is glibc's text
for ENOSPC. The other texts are as people posted them in public reports.

Topic: nodes
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import WEAK, Case, Hit, Pattern
from allranks.diagnose.symptoms.dataloader_worker_killed import CAUSE as DATALOADER_WORKER_KILLED
from allranks.diagnose.symptoms.disk_full_checkpoint import CAUSE as DISK_FULL_CHECKPOINT

CAUSE = Cause(
    __name__,
    explains=(
        DISK_FULL_CHECKPOINT,
        DATALOADER_WORKER_KILLED,
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)/dev/shm|\bshared memory|\bncclShm\w{2,20}|\bshm\w{0,12}|\bbus error|\bSIGBUS"
        r"|\u5171\u4eab\u5185\u5b58"
    ),
)
PATTERNS = (
    Pattern("Unexpected bus error encountered in worker"),
    Pattern("unable to allocate shared memory", without=("Too many open files",)),
    Pattern("unable to write to file </torch_"),
    Pattern("unable to resize file </torch_", without=("Too many open files",)),
    Pattern("shared memory segment", r"Error while (?:creating|attaching).{0,20}shared memory segment"),
    Pattern("posix_fallocate failed"),
    Pattern("No space left on device", r"/dev/shm|</torch_"),
    Pattern("insufficient shared memory"),
    Pattern("shmget", r"shmget\b.{0,160}(?:[Ff]ail|No space|Cannot allocate|ipcs -l)", weight=92),
    Pattern("killed by signal: Bus error"),
    Pattern("Bus error", r"Bus error \(core dumped\)|Signal 7 \(SIGBUS\)", weight=WEAK),
)


def judge(seen: Evidence) -> Optional[Case]:
    """SIGBUS alone makes this cause likely: the kernel could not provide a page of shared memory. It does not if shared
    memory is known to have had room: then a mapped file was truncated, or its storage failed."""
    case = seen.case("shm-too-small")
    bus = [e for e in seen.exits if e.code == -7 and e.node not in seen.with_shared_memory]
    if case is not None or not bus:
        return case
    hits = tuple(Hit("shm-too-small", WEAK, e.line, e.order, e.at, 0) for e in bus[:4])
    return Case("shm-too-small", 75, hits, "likely", rank=bus[0].rank, node=bus[0].node)
