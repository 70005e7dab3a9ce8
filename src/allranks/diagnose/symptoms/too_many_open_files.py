"""The limit of open files is reached

## What is seen
`Too many open files`, `received 0 items of ancdata`, mostly from data loader workers that pass tensors as
file descriptors.

## Why it matters
Every shared tensor costs a descriptor; the limit (`ulimit -n`, often 1024) is reached and loading stops,
sometimes in a hang.

## What to do
Raise the limit (`ulimit -n 65536`, LimitNOFILE, `--ulimit nofile`), or
torch.multiprocessing.set_sharing_strategy("file_system").

## Confused with
shm-too-small, whose lines name shared memory as well.
"""

from __future__ import annotations

from allranks.diagnose.symptom import Pattern

ROLE = "P"
EXPLAINS = (
    "shm-too-small",
    "rank-crashed-first",
    "dataloader-worker-killed",
    "torchelastic-signal",
    "nccl-remote-process-exited",
)
PATTERNS = (
    Pattern("Too many open files"),
    Pattern("items of ancdata"),
)
