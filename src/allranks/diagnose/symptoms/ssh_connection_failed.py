"""A node cannot be reached over SSH.

## How it is found
`host=* was not reachable via ssh`, `ssh: connect to host * port 22`, `Permission denied (publickey)`, `Host
key verification failed`; DeepSpeed tests ssh before pdsh, so a missing ssh client shows first.

Easily confused with mpi-ssh-orted-failure, where mpirun says it; pdsh-missing.

## Why it matters
The launcher starts its processes through SSH: none was started there.

## What to do
`ssh -v HOST hostname` from the head must work without a question: sshd, key, known_hosts, port. Install an ssh client
if it is missing.

## Source
OpenSSH prints `ssh: connect to host` and `REMOTE HOST IDENTIFICATION HAS CHANGED` in `sshconnect.c`, and
`Host key verification failed` and `Permission denied` in `sshconnect2.c`. DeepSpeed 0.19.8 raises `was not
reachable via ssh` in `launcher/runner.py`. The other texts are as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern
from allranks.diagnose.symptoms.missing_system_tool import CAUSE as MISSING_SYSTEM_TOOL
from allranks.diagnose.symptoms.permission_denied_output import CAUSE as PERMISSION_DENIED_OUTPUT

CAUSE = Cause(
    __name__,
    explains=(
        PERMISSION_DENIED_OUTPUT,
        MISSING_SYSTEM_TOOL,
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:ssh|SSH|scp|sshd|paramiko|sftp|rsync)\b.{0,80}\b(?:[Rr]efused|[Dd]enied|[Tt]ime"
        r"|[Ff]ail\w{0,4}|[Cc]annot|[Uu]nable"
        r"|not|n.t|[Cc]losed|[Rr]eset|[Ll]ost|[Ee]rror|[Ee]xit(?:ed|s)?|255|unreachable"
        r"|broken|disconnect\w{0,3}|dropped|rejected|accepted)\b"
        r"|\b(?:[Rr]efused|[Dd]enied|[Ff]ail\w{0,4}|[Cc]annot|can't|[Uu]nable|[Cc]ould not"
        r"|[Nn]ot)\b.{0,80}\b(?:ssh|SSH|sshd|rsync)\b"
        r"|\bpdsh@\S{1,80}: |\bpdsh\b.{0,80}[Cc]onnect|[Nn]o authentication methods"
        r"|(?i:\bauthentication fail|\bhost key\b|\bunprotected private key|\bbanner exchange"
        r"|\badministratively prohibited)|[Cc]onnection (?:closed|reset) by (?:\S{1,60} )?[\d.]{7,15} port \d"
    ),
    hints=r"\b(?:ssh|SSH|scp|sshd|paramiko|sftp|rsync)\b",
)
PATTERNS = (
    Pattern("was not reachable via ssh"),
    Pattern("ssh: connect to host", r"connect to host (?P<node>[\w.-]{1,80})"),
    Pattern("Permission denied (publickey"),
    Pattern(
        "Permission denied",
        r"\((?:[\w-]{1,40},){0,8}(?:password|publickey|keyboard-interactive)[\w,-]{0,80}\)",
    ),
    Pattern("Host key verification failed"),
    Pattern("REMOTE HOST IDENTIFICATION HAS CHANGED"),
    Pattern("No such file or directory", r"'(?:/\S{0,120}/)?ssh'"),
    Pattern(
        "returned non-zero exit status",
        r"Command .{0,2}ssh .{0,200}?(?P<node>[\w.-]{1,80}) hostname'.{0,20} exit status 255",
        weight=96,
    ),
    Pattern("kex_exchange_identification"),
    Pattern("ssh_exchange_identification"),
    Pattern("ssh: command not found"),
    Pattern("ssh exited with exit code", weight=WEAK),
)
