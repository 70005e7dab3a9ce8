"""The scheduler ended the job.

## How it is found
`CANCELLED AT * DUE TO TIME LIMIT`, `DUE TO PREEMPTION`; without a reason it is scancel.

Easily confused with torchelastic-signal, where the log has no line of SLURM; cpu-oom-killed and node-failure, which
SLURM names too.

## Why it matters
SLURM sends SIGTERM and then SIGKILL to every rank: all other messages are its echo.

## What to do
Ask for more time, save more often, and submit with requeue; look at `sacct -j JOB` for who cancelled.

## Source
SLURM 26.11.0-0rc1 prints `DUE TO TIME LIMIT` and `DUE TO PREEMPTION` in `src/slurmd/slurmstepd/req.c`, and
`Job step aborted` in `src/api/step_launch.c`. The texts of LSF, PBS and Kubernetes are as people posted
them in public reports.

Topic: ends
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\btime ?limit|\bwall ?(?:clock|time)|\bpreempt\w{0,4}|\bspot (?:(?:instance"
        r"|vm|node) )?interruption|\binterruption notice|\b(?:longer than the|maximum|max"
        r"|allowed) (?:maximum )?(?:run ?|execution )?time\b|\bspecified deadline"
        r"|\bMaxRuntimeExceeded|\bactiveDeadlineSeconds|\bTIMEOUT\s{1,8}\d{1,3}:\d"
    ),
)
PATTERNS = (
    Pattern("TERM_RUNLIMIT"),  # LSF
    Pattern("TERM_PREEMPT"),
    Pattern("PBS: job killed", r"walltime \d{1,12} exceeded limit"),
    Pattern("DeadlineExceeded", r"(?i)reason[\"']?[:=]\s{0,12}[\"']?DeadlineExceeded"),  # Kubernetes
    Pattern("longer than the specified deadline", weight=95),  # Kubernetes
    Pattern("DUE TO TIME LIMIT", weight=95),
    Pattern("DUE TO PREEMPTION", weight=95),
    Pattern("DUE TO TIME", weight=95),
    Pattern("Job step aborted", r"Force Terminated (?:job|Step)", weight=WEAK),
    Pattern("time limit", r"(?i)exceeded (?:its |the )?time limit", weight=90),
)
