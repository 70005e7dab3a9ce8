"""A data loader worker was killed.

## How it is found
`DataLoader worker (pid *) is killed by signal: Killed` (Aborted, Segmentation fault), `DataLoader worker
(pid(s) *) exited unexpectedly`. Or a ConnectionResetError, EOFError or FileNotFoundError below torch's
`rebuild_storage_fd`: the worker died while its batch was fetched.

Easily confused with shm-too-small, where the signal is Bus error; cpu-oom-killed, where a line proves it.

## Why it matters
The worker process died, mostly because the host's memory ran out: every worker holds its own copy of what
it touches.

## What to do
Fewer workers (num_workers), data that is mapped instead of held, more host memory; `dmesg -T | grep -i
killed` on that node. At the very end, after 100 %, it is harmless.

## Source
PyTorch raises `DataLoader worker … is killed by signal` in `torch/csrc/DataLoader.cpp`. PyTorch 2.13 raises
`Pin memory thread exited` in `torch/utils/data/dataloader.py` and defines `rebuild_storage_fd` in
`torch/multiprocessing/reductions.py`.

Topic: nodes
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__, restart=PASSES, repeats_on="rank")
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:data ?loader|loader) (?:worker )?(?:process(?:es)?|workers?)?.{0,20}\b(?:killed"
        r"|crash\w{0,3}|dies|died|dead)"
        r"|\bkilled\b.{0,30}\bdata ?loader"
    ),
)
PATTERNS = (
    Pattern("DataLoader worker", r"is killed by signal: (?!Terminated|Bus error)", weight=95),
    Pattern("DataLoader worker", r"exited unexpectedly", weight=90),
    Pattern("Pin memory thread exited", weight=84),
    # torch fetches the batch's tensors from the worker that made them. The worker had ended before torch noticed.
    Pattern("rebuild_storage_fd", r"\bin rebuild_storage_fd\b", weight=90, frame=("rebuild_storage_fd", "")),
)
