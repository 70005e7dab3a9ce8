"""Whether an exception only says that another rank is gone or late, or the network is: of all rooms the one table.

A rank that says so may only be suffering from another's death, so it is never taken for the first that crashed.
"""

from __future__ import annotations

import re
from typing import Iterable

TYPES = frozenset((
    # torch/csrc/distributed/c10d/exception.h, torch 2.13
    "DistError", "DistBackendError", "DistNetworkError", "DistStoreError", "DistQueueEmptyError",
    "RendezvousTimeoutError", "RendezvousConnectionError", "RendezvousClosedError",
    "ActorDiedError", "RayActorError", "WorkerCrashedError",
))  # fmt: skip
"""Classes of torch and of Ray that mean nothing else."""


def _in_lower_case(expression: str) -> "re.Pattern[str]":
    """For texts in lower case, which `re` searches much more quickly than it ignores the case. No class with a capital
    letter, such as `\\S`, may be in the expression."""
    return re.compile(expression.lower())


_TEXTS = _in_lower_case(
    # gloo; device.cc reports the rank's own interface
    r"gloo/transport(?!/tcp/device)|\[gloo|connectFullMesh|connection closed by peer|peer closed connection"
    r"|timed out waiting \d{1,9} ?ms|application timeout caused pair closure"
    # NCCL
    r"|NCCL error in:|NCCL Error [236]:|ncclSystemError|ncclRemoteError|ncclInternalError|ncclUnhandledCudaError"
    r"|Horovod has been shut down"
    r"|ncclCommAbort|ncclUniqueId|NCCL communicator was aborted|remote process exited"
    # torch: its stores, its watchdog, its barriers
    r"|TCPStore|TCP client failed to connect|the (?:client|server) socket has|timed out waiting for clients"
    r"|recvValue|sendBytes failed|recvBytes failed|socket timeout|wait timeout after \d|store->get"
    r"|store based barrier|monitoredBarrier|watchdog caught collective|watchdog timeout"
    r"|collective operation timeout|heartbeat monitor timed out|process group .{0,40}has been aborted",
)

_OF_A_SOCKET = _in_lower_case(
    r"connection (?:reset by peer|refused|timed out)|broken pipe|no route to host|network is unreachable"
)
"""A data set on the web says these, too, by an exception of its own. torch raises them as a RuntimeError."""

_OF_TORCH = _in_lower_case(r"gloo|nccl|c10d|pair\.cc|ProcessGroup|^RuntimeError$")


def is_communication(types: Iterable[str], text: str) -> bool:
    """`types` are the names of the exception's class and its bases, as far as they are known; `text` is its message."""
    known, said = list(types), text.lower()
    if TYPES.intersection(known) or _TEXTS.search(said):
        return True
    if not _OF_A_SOCKET.search(said):
        return False
    return any(_OF_TORCH.search(one) for one in (said, *(name.lower() for name in known[:1])))


def blames(line: str) -> bool:
    """Whether a line of a rank's log, with any prefix, reports such a failure."""
    said = line.lower()
    return bool(_TEXTS.search(said) or _OF_A_SOCKET.search(said))
