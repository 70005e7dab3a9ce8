"""A data loader worker was killed

## What is seen
`DataLoader worker (pid *) is killed by signal: Killed` (Aborted, Segmentation fault), `DataLoader worker
(pid(s) *) exited unexpectedly`. Or a ConnectionResetError, EOFError or FileNotFoundError below torch's
`rebuild_storage_fd`: the worker died while its batch was fetched.

## Why it matters
The worker process died, mostly because the host's memory ran out: every worker holds its own copy of what
it touches.

## What to do
Fewer workers (num_workers), data that is mapped instead of held, more host memory; `dmesg -T | grep -i
killed` on that node. At the very end, after 100 %, it is harmless.

## Confused with
shm-too-small, where the signal is Bus error; cpu-oom-killed, where a line proves it.
"""

from __future__ import annotations

from allranks.diagnose.symptom import WEAK, Pattern

ROLE = "P"
EXPLAINS = ("rank-crashed-first", "nccl-remote-process-exited", "rank-sigkilled")
PATTERNS = (
    Pattern("DataLoader worker", r"is killed by signal: (?!Terminated|Bus error)", weight=95),
    Pattern("DataLoader worker", r"exited unexpectedly", weight=90),
    Pattern("DataLoader worker", r"is killed by signal: Terminated", weight=WEAK - 20),
    # The batch's tensors are fetched from the worker that made them: it was gone before torch noticed.
    Pattern("rebuild_storage_fd", r"\bin rebuild_storage_fd\b", weight=90),
)

FIRES = (
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DataLoader "
    "worker (pid 7181) is killed by signal: Killed. \n"
    "[rank1]: The above exception was the direct cause of the following exception:\n"
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: "
    "DataLoader worker (pid(s) 7181) exited unexpectedly\n",
    "Traceback (most recent call last):\n"
    '  File "/work/train.py", line 31, in train\n'
    '  File "/env/lib/python3.11/site-packages/torch/utils/data/dataloader.py", line 1251, in _try_get_data\n'
    '  File "/env/lib/python3.11/site-packages/torch/multiprocessing/reductions.py", line 541, in rebuild_storage_fd\n'
    '  File "/usr/lib/python3.11/multiprocessing/connection.py", line 395, in _recv\n'
    "ConnectionResetError: [Errno 104] Connection reset by peer\n",
)
SILENT = (
    "Traceback (most recent call last):\n"
    '  File "/env/torch/multiprocessing/reductions.py", line 541, in rebuild_storage_fd\n'
    "RuntimeError: received 0 items of ancdata\n",
    "[rank1]: Traceback (most recent call last):\n[rank1]: RuntimeError: DataLoader "
    "worker (pid 7) is killed by signal: Bus error. \n"
    "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).\n",
)
