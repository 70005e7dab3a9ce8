"""A user or an administrator ended the job.

## How it is found
`slurmstepd: error: *** JOB * ON * CANCELLED AT * ***` without a reason, `mpirun: killing job...` after
Ctrl-C, `^C`, `Aborted by user`, `Job was cancelled by user`.

Easily confused with slurm-preempt-or-timeout, where the line says so; a hang that somebody ended by hand:
look at what stood still before it.

## Why it matters
scancel, Ctrl-C or a stop from a console; nothing in the training failed before it, as far as these logs
show.

## What to do
Nothing, if it was meant. `sacct -j JOB -o State,User` names the user (`CANCELLED by UID`). If nobody did,
look at the scheduler's log for a dependency or a limit.

## Source
SLURM 26.11.0-0rc1 prints `CANCELLED AT` in `src/slurmd/slurmstepd/req.c`. The other texts are as people
posted them in public reports.

Topic: ends
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.closings import told_to_end
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.survival import LAST_LINES
from allranks.diagnose.symptom import ECHO, ENDED, WEAK, Case, Hit, Pattern
from allranks.diagnose.symptoms.slurm_preempt_or_timeout import CAUSE as SLURM_PREEMPT_OR_TIMEOUT

CAUSE = Cause(__name__, explains=(SLURM_PREEMPT_OR_TIMEOUT,))
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bcancell?ed (?:by|due to|job)|\bkeyboard ?interrupt|\bctrl[-+ ]c\b|\bscancel|\bqdel|\bbkill"
        r"|\bSIGINT\b|\bTERM_OWNER\b|\bkilled by (?:its )?owner|\bjob (?:was )?(?:cancell?ed|stopped"
        r"|killed) by (?:the )?user"
    ),
    general=True,
)
PATTERNS = (
    Pattern(
        "CANCELLED AT", r"CANCELLED AT [\dT:-]{8,25} (?:\*|$)|CANCELLED AT [\dT:-]{8,25}$", weight=WEAK + 22
    ),
    Pattern("CANCELLED by", r"CANCELLED by \d{1,9}", weight=WEAK + 22),
    Pattern("user", r"(?i)\b(?:cancell?ed|aborted|stopped|interrupted) by (?:the )?user\b", weight=WEAK + 22),
    Pattern("keyboard", r"(?i)\binterrupted (?:from|by|via) (?:the )?keyboard\b", weight=WEAK + 22),
    Pattern("^CTraceback", weight=ENDED - 4),  # the terminal shows Ctrl-C as ^C
    Pattern("KeyboardInterrupt", r"^KeyboardInterrupt", weight=ENDED - 4),
    Pattern("SIGINT", told_to_end("SIGINT"), weight=ENDED - 4),
    Pattern("Optimization stopped early.", weight=ENDED - 4),  # Caffe, after SIGINT
    Pattern("Detected KeyboardInterrupt", weight=ENDED - 4),  # Lightning
    Pattern("Main process received SIGINT", weight=WEAK + 22),  # DeepSpeed's launcher
    Pattern("killing job", r"mpirun: killing job", weight=42),
    Pattern(
        "user",
        r"(?i)(?:\b|\^C)terminat\w{2,5} (?:\w{1,20} ){0,4}(?:on|at|by|upon) user(?:'s)? request",
        weight=WEAK + 22,
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """SLURM cancels a step also because one of its tasks failed before."""
    cases = [one for one in (seen.case("cancelled-by-user"), _at_terminal(seen)) if one is not None]
    case = max(cases, key=lambda one: one.weight, default=None)
    if case is None or not all("STEP" in hit.line.text for hit in case.hits):
        return case
    first = min(hit.order for hit in case.hits)
    failed = [end for end in seen.exits if end.code not in (0, -9, -15) and end.order < first]
    return case._replace(weight=min(case.weight, ECHO)) if failed else case


def _at_terminal(seen: Evidence) -> Optional[Case]:
    """The case of a program that ends where its terminal shows Ctrl-C."""
    if seen.ctrl_c is None:
        return None
    order, line = seen.ctrl_c
    if seen.sources[line.source].last - order > LAST_LINES:
        return None
    hit = Hit("cancelled-by-user", ENDED - 4, line, order, seen.now(line), seen.sources[line.source].steps)
    return Case("cancelled-by-user", ENDED - 4, (hit,), "likely")
