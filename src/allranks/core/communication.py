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

_TEXTS = re.compile(
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
    re.IGNORECASE,
)

_OF_A_SOCKET = re.compile(
    r"connection (?:reset by peer|refused|timed out)|broken pipe|no route to host|network is unreachable",
    re.IGNORECASE,
)
"""A data set on the web says these, too, by an exception of its own. torch raises them as a RuntimeError."""

_OF_TORCH = re.compile(r"gloo|nccl|c10d|pair\.cc|ProcessGroup|^RuntimeError$", re.IGNORECASE)


def is_communication(types: Iterable[str], text: str) -> bool:
    """`types` are the names of the exception's class and its bases, as far as they are known; `text` is its message."""
    known = list(types)
    if TYPES.intersection(known) or _TEXTS.search(text):
        return True
    return bool(_OF_A_SOCKET.search(text)) and any(map(_OF_TORCH.search, (text, *known[:1])))


def blames(line: str) -> bool:
    """Whether a line of a rank's log, with any prefix, reports such a failure."""
    return bool(_TEXTS.search(line) or _OF_A_SOCKET.search(line))
