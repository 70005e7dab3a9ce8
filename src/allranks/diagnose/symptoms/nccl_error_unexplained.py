"""NCCL failed, and these logs do not say why.

## How it is found
`ncclSystemError: System call … failed`, `ncclInternalError: Internal check failed`, `ncclUnhandledCudaError`,
`unhandled system error`, `unhandled cuda error` without a `NCCL WARN` line and without another rank's error.

Easily confused with nccl-remote-process-exited, where NCCL says that the peer is gone.

## Why it matters
These are NCCL's general error names. The reason is in a `NCCL WARN` line, which NCCL prints
only if NCCL_DEBUG is set, or in the log of the rank that failed first.

## What to do
Give `allranks diagnose` the logs of all ranks. If it comes again, start with `NCCL_DEBUG=WARN` (or `INFO`):
the line above the exception then names the socket, the memory, the library or the peer.

## Source
NCCL 2.30.7 returns `unhandled system error`, `unhandled cuda error` and `internal error` in
`ncclGetErrorString`, `src/init.cc`. It prints `Cuda failure` in `src/include/checks.h`. The other texts are
as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from allranks.core.causes import BLAME, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import ECHO, Pattern

CAUSE = Cause(__name__, kind=BLAME, hearsay=True, restart=PASSES)
COMPLAINT = Complaint(
    subject=r"\b(?:NCCL|nccl\w{3,40}|RCCL|ProcessGroupNCCL|DistBackendError)\b",
    general=True,
)
PATTERNS = (
    Pattern("unhandled system error", weight=ECHO - 4),
    Pattern("ncclSystemError", weight=ECHO - 4),
    Pattern("ncclInternalError", weight=ECHO - 4),
    Pattern("unhandled cuda error", weight=ECHO - 4),
    Pattern("ncclUnhandledCudaError", weight=ECHO - 4),
    Pattern("NCCL internal error", weight=ECHO - 4),
    Pattern("NCCL error in", weight=ECHO - 4),
    Pattern("ncclInvalidUsage", weight=ECHO - 4),
    Pattern("invalid usage", r"invalid usage.{0,20}NCCL_DEBUG", weight=ECHO - 4),
    Pattern("NCCL error", r"(?:\[|')NCCL error '?\S|NCCL error \d{1,3}\b", weight=ECHO - 4),
    Pattern("Cuda failure", r"NCCL WARN Cuda failure", weight=ECHO - 4),
    Pattern("due to ProcessGroupNCCL watchdog hang", weight=ECHO - 4),
    # NCCL's proxy closes the connection to its own rank then, which that rank reports as a peer's.
    Pattern(
        "Failed to execute operation",
        r"Failed to execute operation (?:Init|Setup|Connect|Register) from rank (?P<rank>\d{1,7})",
        weight=ECHO + 1,
    ),
)
