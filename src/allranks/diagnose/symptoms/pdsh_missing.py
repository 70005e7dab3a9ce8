"""The launcher pdsh is not installed.

## How it is found
`launcher 'pdsh' not installed`, `pdsh: command not found`, `No such file or directory: 'pdsh'`.

Easily confused with ssh-connection-failed, which DeepSpeed tests first.

## Why it matters
DeepSpeed starts the other nodes with pdsh unless it is told otherwise: nothing was started.

## What to do
Install pdsh on the head, or start otherwise: `--launcher openmpi|slurm`, `--no_ssh` with --node_rank, or
`allranks run`.

## Source
DeepSpeed 0.19.8 raises `launcher 'pdsh' not installed` in `launcher/runner.py`. The other texts are those
of shells and of Python, as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.missing_system_tool import CAUSE as MISSING_SYSTEM_TOOL
from allranks.diagnose.symptoms.ssh_connection_failed import CAUSE as SSH_CONNECTION_FAILED

CAUSE = Cause(
    __name__,
    explains=(
        MISSING_SYSTEM_TOOL,
        SSH_CONNECTION_FAILED,
    ),
)
COMPLAINT = Complaint(subject=r"(?i)\bpdsh\b(?![@:]|.{0,80}(?:connect|refused|denied|timed|host key))")
PATTERNS = (
    Pattern("not installed", r"launcher '(?:pdsh|\{args\.launcher\})' not installed"),
    Pattern("pdsh: command not found"),
    Pattern("pdsh: not found"),
    Pattern("No such file or directory", r"'(?:/\S{0,120}/)?pdsh'"),
    Pattern("Could not find pdsh"),
    Pattern("PDSH", r"(?i)(?:requires?|needs?|without) (?:the )?pdsh\b", weight=WEAK),
    Pattern("pdsh", r"(?i)(?:requires?|needs?|without) (?:the )?pdsh\b", weight=WEAK),
    Pattern("pdsh", r"pdsh(?: is|'s)? (?:not installed|missing)"),
)
