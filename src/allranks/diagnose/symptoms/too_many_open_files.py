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

FIRES = (
    "Traceback (most recent call last):\n"
    "RuntimeError: unable to open shared memory object </torch_7324_17_118> "
    "in read-write mode: Too many open files (24)\n"
    "W1120 23:06:36.561 7301 api.py:752] Received 15 death signal, shutting down workers\n",
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: received 0 items of ancdata\n",
)
SILENT = ("[rank0] opened 256 files\n[rank0] step 1 loss 3\n",)
