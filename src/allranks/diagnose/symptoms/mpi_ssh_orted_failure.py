"""mpirun could not start its daemons.

## How it is found
`ORTE was unable to reliably start one or more daemons`, `orted: command not found` (PRTE and prted from
version 5 on), with ssh's own error before it.

Easily confused with ssh-connection-failed, where another launcher says it.

## Why it matters
mpirun starts a daemon on each node through SSH: without it no rank was started there.

## What to do
`ssh HOST which orted` must work from the head: sshd, keys, the same Open MPI on the same path (or
`--prefix`), and an interface that leads back (`--mca oob_tcp_if_include`).

## Source
PRRTE 5.0, the launcher of Open MPI, keeps its messages in `src/mca/errmgr/base/help-errmgr-base.txt`,
`src/mca/rmaps/base/help-prte-rmaps-base.txt` and `src/mca/schizo/prte/help-prun.txt`. Texts with `orted`
come from older versions, as people posted them.

Topic: start
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.hostname_resolution import CAUSE as HOSTNAME_RESOLUTION
from allranks.diagnose.symptoms.libnccl_or_cuda_lib_not_found import CAUSE as LIBNCCL_OR_CUDA_LIB_NOT_FOUND
from allranks.diagnose.symptoms.missing_system_tool import CAUSE as MISSING_SYSTEM_TOOL
from allranks.diagnose.symptoms.permission_denied_output import CAUSE as PERMISSION_DENIED_OUTPUT
from allranks.diagnose.symptoms.ssh_connection_failed import CAUSE as SSH_CONNECTION_FAILED

CAUSE = Cause(
    __name__,
    explains=(
        SSH_CONNECTION_FAILED,
        MISSING_SYSTEM_TOOL,
        HOSTNAME_RESOLUTION,
        PERMISSION_DENIED_OUTPUT,
        LIBNCCL_OR_CUDA_LIB_NOT_FOUND,
    ),
)
COMPLAINT = Complaint(
    subject=(
        r"\b(?:orte\w{0,20}|ORTE\w{0,20}|prte\w{0,20}|PRTE\w{0,20}|orted|(?<![/.])[Hh]ydra(?![/.]\w)|PMIx?"
        r"|pmix\w{0,20}|PMIX\w{0,30}|MPI_\w{2,40}|OPAL|opal_\w{2,40}|PSM2|HYD[A-Z]?_\w{3,40}|hydra_pmi_proxy)\b"
    ),
    hints=(
        r"\b(?:mpirun|mpiexec|MPI(?! [Oo]perator)|MPICH|Open ?MPI|openmpi|pml|btl)\b(?!.{0,160}\b(?:slots?"
        r"|processors)\b)"
    ),
)
PATTERNS = (
    Pattern("was unable to reliably start"),
    Pattern("orted: command not found"),
    Pattern("prted: command not found"),
    Pattern("orted", r"orted.{0,40}(?:No such file|not found)"),
    Pattern("daemon has unexpectedly failed", r"(?:ORTE|PRTE)"),
    Pattern("route a message to the specified", weight=90),
    Pattern("unable to complete a TCP connection", weight=94),
    Pattern("unable to launch the specified application", weight=88),
)
