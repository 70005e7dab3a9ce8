"""The host's memory ran out

## What is seen
`oom_kill event in StepId`, the kernel's `Out of memory: Killed process`, `OOMKilled`, srun's `Out Of
Memory`, Ray's `node running low on memory`, `DefaultCPUAllocator: can't allocate memory`.

## Why it matters
The kernel or the scheduler killed a rank because the machine or its cgroup had no memory left; the others
only lost their peer.

## What to do
More memory for the job, fewer data loader workers, loading and saving in shards, no offload. A smaller
batch rarely helps: it is host memory.

## Confused with
rank-sigkilled, the same picture without a line that proves it; cuda-oom, which is the GPU's memory.
"""

from __future__ import annotations

from allranks.diagnose.symptom import WEAK, Pattern

ROLE = "P"
EXPLAINS = (
    "rank-sigkilled",
    "rank-crashed-first",
    "dataloader-worker-killed",
    "ray-worker-died",
    "nccl-remote-process-exited",
    "slurm-preempt-or-timeout",
)
_GUESS = ("Some common causes", "might be", "may have been", "could be")
PATTERNS = (
    Pattern("oom_kill event"),
    Pattern("oom-kill event"),
    Pattern("OOM Killed", without=_GUESS),
    Pattern("OOMKilled"),
    Pattern("OUT_OF_MEMORY", without=("CUDA_ERROR",)),
    Pattern("ut of memory: Killed process"),
    Pattern("oom-kill:constraint"),
    Pattern("invoked oom-killer"),
    Pattern("Out Of Memory", r"tasks? [\d,-]{1,200}: Out Of Memory"),
    Pattern("running low on memory"),
    Pattern("Task was killed due to", r"memory"),
    Pattern("allocate memory: you tried to allocate"),
    Pattern("Cannot allocate memory", r"Errno 12|errno: 12|OSError|fork", without=("ibv_", "reg_mr")),
    Pattern("MemoryError", r"^(?:numpy\S{0,120}\.)?\w{0,60}MemoryError\b", weight=90, raised=True),
    Pattern("exceeded memory limit", r"[Ee]xceeded (?:job |step )?memory limit"),
    Pattern("std::bad_alloc", weight=WEAK),
)

FIRES = (
    "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0. Some of the step tasks have been OOM Killed.\n"
    "srun: error: node3: task 7: Out Of Memory\n",
    "[ 4823.1] Memory cgroup out of memory: Killed process 9455 (python) total-vm:214748364kB\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
)
SILENT = (
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    "ray.exceptions.ActorDiedError: Worker exit type: SYSTEM_ERROR Worker "
    "exit detail: Worker unexpectedly exits with a "
    "connection error code 2. Some common causes include: (1) the process was killed by the OOM killer\n",
)
