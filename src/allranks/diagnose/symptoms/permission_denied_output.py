"""A path may not be opened.

## How it is found
`[Errno 13] Permission denied`, `[Errno 30] Read-only file system`, `open file failed with strerror`; mostly
on rank 0 alone, which writes.

Easily confused with ssh-connection-failed, where it says `Permission denied (publickey)`.

## Why it matters
The run's user may not write there, or not read it. In containers the user inside often does not own the mounted folder.
In a job of several ranks mostly rank 0, which writes, ended; the others lost their peer.

## What to do
Give the run's user access to that path on that node (`ls -ld` shows its owner and rights), mount it without `ro`, or
use another path.

## Source
`Permission denied`, `Operation not permitted` and `Read-only file system` are glibc's texts for EACCES,
EPERM and EROFS, `sysdeps/gnu/errlist.h`. Python raises `PermissionError` for the first two. `open file
failed with strerror` and `Parent directory` are in `libtorch_cpu.so` of PyTorch 2.13.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
_SSH = ("publickey", "password)", "keyboard-interactive", "docker.sock", "/dev/nvidia")
CLAIM = Claim(
    subject=(
        r"(?i)^(?=.{0,300}(?:\bread-only (?:file|mount|vol)|\bnot writ\w{0,3}able\b|\bno write permission"
        r"|\bwrite permissions?\b"
        r"|\bpermission denied\b|s3:putobject|\baccess is denied\b))(?!.{0,400}(?:docker\.sock|publickey"
        r"|password|gated|huggingface))"
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bpermission denied|\bEACCES\b|\boperation not permitted|\bread-only file ?system"
        r"|\baccess (?:is )?denied|\u6743\u9650"
    ),
)
PATTERNS = (
    Pattern("Permission denied", r"^\w{1,40}Error: open\(\S{1,400}\): Permission denied", without=_SSH),
    Pattern(
        "cannot be opened",
        r"^(?:[\w.]{1,40}: )?RuntimeError: File \S{1,400} cannot be opened\.",
        weight=90,
    ),
    Pattern("Parent directory", r"RuntimeError: Parent directory \S{0,400} does not exist\.", weight=90),
    Pattern("Permission denied", r"Errno 13\b|PermissionError|strerror|os error 13", without=_SSH),
    Pattern("Read-only file system"),
    Pattern("open file failed with strerror"),
    Pattern("PermissionError", raised=True, without=_SSH),
    Pattern("Operation not permitted", r"Errno 1\b", raised=True),
)
