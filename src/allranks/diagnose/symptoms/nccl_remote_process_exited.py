"""A peer is gone; these ranks only noticed it.

## How it is found
`ncclRemoteError: ... remote process exited or there was a network error`, `socketProgress: Connection
closed by remote peer host<port>`, Gloo's `Connection closed by peer`, InfiniBand completion error 5
(flush), JAX's `task:37 heartbeat timeout` and `Either the leader task was preempted/died`, monitoredBarrier's
`received errors while waiting for send/recv from rank 0`. The rank that such a text names is the culprit; a rank that
only prints it is not.

Easily confused with rank-crashed-first and rank-sigkilled, of which this is the echo.

## Why it matters
It is only a consequence of another rank's end; the log of the named peer has the cause.

## What to do
Read the log of the named peer's node; give `allranks diagnose` the logs of all nodes.

## Source
NCCL 2.30.7 returns `remote process exited or there was a network error` in `src/init.cc` and prints
`Connection closed by remote peer` in `src/misc/socket.cc`. Gloo prints `Connection closed by peer` in
`gloo/transport/tcp/pair.cc`. `sendBytes failed` and `recvValue failed` are in `libtorch_cpu.so` of PyTorch
2.13. The other texts are as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import BLAME, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, Case, Pattern
from allranks.diagnose.symptoms.nccl_error_unexplained import CAUSE as NCCL_ERROR_UNEXPLAINED

CAUSE = Cause(__name__, kind=BLAME, hearsay=True, restart=PASSES, explains=(NCCL_ERROR_UNEXPLAINED,))
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:connection (?:was )?(?:closed|reset|aborted)|remote (?:peer|process|rank)"
        r"|peer (?:closed|exited|died|lost|gone)|broken pipe|connection lost|eof from|gloo)\b"
    ),
    general=True,
    needs=(
        r"(?i)[nrh]ccl|gloo|\bmpi|peer|rank|worker|tcpstore|c10d|rendezvous|\bray\b|deepspeed|horovod|distributed"
        r"|remote|broken pipe|\beof\b|multiprocess|socket"
    ),
)
PATTERNS = (
    Pattern(
        "Aborting RingReduce with", r"Unavailable|[Ss]ocket closed|reset by peer", weight=ECHO
    ),  # TensorFlow
    Pattern("ncclRemoteError", weight=ECHO),
    Pattern("remote process exited or there was a network error", weight=ECHO),
    Pattern("Connection closed by remote peer", weight=ECHO),
    Pattern("Connection closed by peer", weight=ECHO),
    Pattern("Connection reset by peer", r"gloo|NCCL|c10d|TCPStore|socket|recvValue|pair\.cc", weight=ECHO),
    Pattern("Horovod has been shut down", weight=ECHO - 2),
    Pattern("heartbeat timeout", r"/task:(?P<rank>\d{1,7}) heartbeat timeout", weight=ECHO),
    Pattern(
        "with a different incarnation",
        r"/task:(?P<rank>\d{1,7}) unexpectedly tried to connect",
        weight=ECHO + 1,
    ),  # JAX
    Pattern(
        "to coordination service",
        r"Either the (?P<leader>leader) task (?:was preempted|died)",
        weight=ECHO + 1,
    ),  # JAX
    Pattern(
        "RPC agent for",
        r"(?i)encountered error when (?:(?:sending outgoing request #\d{1,12} to|reading incoming response from) "
        r"(?:worker[_-]?)?(?P<rank>\d{1,7})\b)?.{0,200}connection reset",
        weight=ECHO,
    ),  # torch.distributed.rpc
    Pattern(
        "received errors while waiting for", r"send/recv from rank (?P<rank>\d{1,7})", weight=ECHO
    ),  # monitoredBarrier
    Pattern("recvValue failed", weight=ECHO - 2),
    Pattern("flag on TCPStore", r"Failed to check the ..?should dump", weight=ECHO - 2),
    Pattern("Broken pipe", r"c10d|TCPStore|socket|gloo|NCCL|sendBytes|write", weight=ECHO - 2),
    Pattern("recvBytes failed", weight=ECHO - 2),
    Pattern("sendBytes failed", weight=ECHO - 2),
    Pattern("NCCL communicator was aborted", weight=ECHO - 2),
    Pattern("with error", r"[Cc]ompletion.{0,80}(?:error|status=)\s?5\b", weight=ECHO),
    Pattern("WR_FLUSH", weight=ECHO),
    Pattern("has been aborted", r"process group .{0,80}has been aborted", weight=ECHO - 2),
)
_PEER = re.compile(r"closed by remote peer ([A-Za-z\d][\w.-]{0,80})<\d")


def judge(seen: Evidence) -> Optional[Case]:
    """Names the peer if the text does: by its rank, or by its host's first label, if these logs know a node of that
    name."""
    case = seen.case("nccl-remote-process-exited")
    if case is None:
        return None
    # The leader of JAX's coordination service is process 0.
    gone = [int(h.group("rank") or 0) for h in case.hits if h.group("rank") or h.group("leader")]
    if gone:
        return case._replace(rank=gone[0], confidence="likely")
    peers = [m.group(1) for h in case.hits for m in [_PEER.search(h.line.text)] if m]
    if not peers:
        return _silent(seen, case) or case._replace(confidence="likely", only_suffered=True)
    label = peers[0].split(".")[0] if not peers[0][0].isdigit() else peers[0]
    notes = (f"the peer that closed the connection: {peers[0]}",)
    return case._replace(node=label if label in seen.nodes else peers[0], notes=notes, confidence="likely")


def _silent(seen: Evidence, case: Case) -> Optional[Case]:
    """All ranks but one lost a peer, and that one says nothing of it: it is the peer."""
    silent = seen.silent()
    if len(silent) != 1 or seen.step_ended or any(hit.line.rank is None for hit in case.hits):
        return None
    if seen.world != set(range(len(seen.world))):
        return None  # some of these numbers are not of ranks
    if seen.still_lived() or any(one.rank == silent[0] and one.code == -15 for one in seen.exits):
        return None  # it was told to end
    known = seen.ranks.get(silent[0])
    last = known.last_plain.text[:160] if known is not None and known.last_plain is not None else ""
    notes = (f"all ranks but rank {silent[0]} lost a peer",) + (
        (f"the last it said: {last}",) if last else ()
    )
    return case._replace(rank=silent[0], notes=notes, confidence="likely")
