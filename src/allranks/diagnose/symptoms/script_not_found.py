"""Python could not open the training script.

## How it is found
Python's `can't open file '/srv/train.py': [Errno 2] No such file or directory`, on standard error of torchrun or of a
rank.

Easily confused with wrong-arguments, where the script was found and refused its arguments.

## Why it matters
The script is not at this path on this node. Python ended at once, and the other nodes then waited for it. A batch
system may copy the job's script into a folder of its spool: a path relative to the script is then wrong.

## What to do
Correct the script's path: `train.command` in a run file, otherwise the launcher's line. Use a whole path that exists on
every node.

## Source
CPython 3.11 prints `can't open file`; the text is in `libpython3.11.so`.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:can(?:not| not|'t)|unable to|could not) (?:find|open|locate) (?:the "
        r"|file )?(?:training |launch )?"
        r"(?:script|\S{1,120}\.(?:py|sh))\b|\.(?:py|sh)['\"`]?:? (?:(?:was |is )?not found"
        r"|no such file(?! \S{0,40}/)|does not exist)"
    ),
)
PATTERNS = (
    Pattern("execve", r"execve\(\): \S{0,200}\.(?:sh|py|bash): No such file", weight=96),  # SLURM
    Pattern("open file", r"can't open file '[^']{1,400}': \[Errno \d{1,3}\]", weight=96),
    Pattern("open file", r"^\S{0,80}python[\d.]{0,5}: can't open file", weight=90),
)
