"""The host's memory ran out.

## How it is found
`oom_kill event in StepId`, the kernel's `Out of memory: Killed process`, `OOMKilled`, srun's `Out Of
Memory`, Ray's `node running low on memory`, `DefaultCPUAllocator: can't allocate memory`.

Easily confused with rank-sigkilled, which looks the same but without a line that proves it; cuda-oom, which is the
GPU's memory.

## Why it matters
The kernel or the scheduler killed a rank because the machine or its cgroup had no memory left; the others
only lost their peer.

## What to do
Give the job more memory, use fewer data loader workers, load and save in shards, or leave offload out. A smaller batch
rarely helps, because this is host memory.

## Source
The Linux kernel prints `invoked oom-killer` and `Killed process` in `mm/oom_kill.c`. SLURM 26.11.0-0rc1
prints `oom_kill event` in `src/plugins/task/cgroup/task_cgroup_memory.c`. `you tried to allocate` is in
`libc10.so` of PyTorch 2.13, `running low on memory` in `raylet` of Ray 2.60.0. The other texts are as
people posted them in public reports.

Topic: nodes
"""

from __future__ import annotations

import re

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.dataloader_worker_killed import CAUSE as DATALOADER_WORKER_KILLED
from allranks.diagnose.symptoms.slurm_preempt_or_timeout import CAUSE as SLURM_PREEMPT_OR_TIMEOUT

CAUSE = Cause(
    __name__,
    restart=PASSES,
    repeats_on="node",
    by_kill=True,
    kernel=re.compile(r"out of memory|oom-kill|killed process", re.IGNORECASE),
    explains=(
        DATALOADER_WORKER_KILLED,
        SLURM_PREEMPT_OR_TIMEOUT,
    ),
)
_GUESS = ("Some common causes", "might be", "may have been", "could be")
COMPLAINT = Complaint(
    subject=(
        r"(?i)\boom[-_ ]?kill\w{0,4}|\bevicted\b.{0,60}(?<!gpu )\bmemory\b"
        r"|(?<!gpu )(?<!cuda )(?<!device )\bmemory\b.{0,80}\bkilled"
        r"|\bkilled\b.{0,80}\b(?:RAM|host memory|system memory|lack of memory)\b|\bout[- ]of[- ]memory handler"
        r"|\bmemory (?:limit|cgroup|pressure"
        r"|threshold|exhaust\w{0,3})|\bcgroup.{0,40}memory|\b(?:host|system|cpu|node|worker|container|job"
        r"|RAM|main) (?:is )?(?:ran |running |runs )?(?:out of |low on )memory|\bout of (?:host |system "
        r"|cpu )?(?:memory|RAM)\b(?!.{0,60}\b(?:cuda|gpu|hip|npu|device)).{0,40}kill|\bearlyoom"
        r"|\bsystemd-oomd|memory usage.{0,60}(?:exceed|kill)|(?<!\u5171\u4eab)\u5185\u5b58(?:\u4e0d\u8db3"
        r"|\u6ea2\u51fa)|\u7206\u5185\u5b58"
    ),
)
PATTERNS = (
    Pattern("RayOutOfMemoryError", weight=96),
    Pattern("has abruptly died", r"subprocess\w{0,2} has abruptly died", weight=80),  # datasets
    Pattern("was low on resource", r"low on resource: memory"),  # Kubernetes
    Pattern("TERM_MEMLIMIT"),  # LSF
    Pattern("PBS: job killed", r"v?mem \d{1,15}\w{0,4} exceeded limit"),
    Pattern("oom_kill event"),
    Pattern("oom-kill event"),
    Pattern("OOM Killed", without=_GUESS),
    Pattern("OOMKilled"),
    Pattern("OUT_OF_MEMORY", without=("CUDA_ERROR",)),
    Pattern("ut of memory: Killed process"),
    Pattern("ut of memory: Kill process"),  # Linux before 5.1
    Pattern("Killed process", r"Killed process \d{1,10} \(.{1,60}\),? .{0,60}total-vm:"),
    Pattern("oom-kill:constraint"),
    Pattern("failcnt", r"memory: usage (\d{1,15})kB, limit \1kB, failcnt [1-9]", weight=98),
    Pattern("invoked oom-killer"),
    Pattern("Out Of Memory", r"tasks? [\d,-]{1,200}: Out Of Memory"),
    Pattern("running low on memory"),
    Pattern("Task was killed due to", r"memory"),
    Pattern("Memory on the node (IP: ", weight=96),  # Ray's memory monitor
    Pattern("allocate memory: you tried to allocate"),
    Pattern("Cannot allocate memory", r"Errno 12|errno: 12|OSError|fork", without=("ibv_", "reg_mr")),
    Pattern("MemoryError", r"^(?:numpy\S{0,120}\.)?\w{0,60}MemoryError\b", weight=90, raised=True),
    Pattern("exceeded memory limit", r"[Ee]xceeded (?:job |step )?memory limit"),
    Pattern("std::bad_alloc", weight=WEAK),
)
