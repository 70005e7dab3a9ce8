"""The limit of processes or threads is reached.

## How it is found
`can't start new thread`, `BlockingIOError: [Errno 11] Resource temporarily unavailable`, `OpenBLAS
blas_thread_init: pthread_create failed`, `fork: retry: Resource temporarily unavailable`.

Easily confused with too-many-open-files, which is another limit; cpu-oom-killed.

## Why it matters
The user's or container's limit of processes counts threads too; data loaders, BLAS and tokenizers start
many on each rank.

## What to do
`ulimit -u`, the container's `--pids-limit`, `TasksMax` of the service; fewer loader workers,
`OMP_NUM_THREADS` and `OPENBLAS_NUM_THREADS` small.

## Source
`Resource temporarily unavailable` is glibc's text for EAGAIN, `sysdeps/gnu/errlist.h`. CPython 3.11 raises
`can't start new thread`. The other texts are as people posted them in public reports.

Topic: nodes
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bpthread_create|\bfork\b(?!.{0,80}\b(?:cuda|gpu))|\bRLIMIT_NPROC|\bulimit -u|\bpids? (?:limit|cgroup)"
        r"|\bblas_thread_init|\bthread creation|\bcreat\w{1,3} (?:new )?threads?\b|\bpids\.max"
    ),
)
PATTERNS = (
    Pattern("start new thread", r"can't start new thread", weight=98),
    Pattern(
        "Resource temporarily unavailable",
        r"(?i)fork|pthread|BlockingIOError|spawn|thread",
        weight=92,
        without=("socket", "recv", "Accept failed"),
    ),
    Pattern("pthread_create failed", weight=80),
    Pattern("fork: retry: ", weight=92),  # bash
)
