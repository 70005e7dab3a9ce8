"""A node or a rank never came to the rendezvous.

## How it is found
`DistStoreError: Timed out after *s ... waiting for clients. k/N clients joined.`, `RendezvousTimeoutError`,
`The client socket has timed out after *ms while trying to connect to (host, port)`, `poll for socket ...
returned 0`, in old versions `store based barrier`.

Easily confused with master-unreachable-firewall, where both sides time out though both are up;
launch-args-mismatch, where only one of many ever starts.

## Why it matters
The others waited for a node that did not start in time, or could not be reached. The cause is in that node's log.

## What to do
Find who did not join (k of N) and read its log: an import error, a missing path, a pod that is pending.
Start all nodes together, end old processes of an earlier try, raise the join time-out if the start is
merely slow.

## Source
PyTorch raises `The client socket has timed out after` in `torch/csrc/distributed/c10d/socket.cpp`. PyTorch
2.13 raises `store based barrier` in `torch/distributed/distributed_c10d.py` and defines the
`Rendezvous…Error` classes in `torch/distributed/elastic/rendezvous/api.py`. `clients joined` is in its
`libtorch_cpu.so`. The other texts are as people posted them in public reports.

Topic: start
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import END, PASSES, Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, ENDED, WEAK, Case, Pattern

CAUSE = Cause(__name__, kind=END, hearsay=True, of_ranks=True, restart=PASSES)
_TEARDOWN = ("failed to shutdown", "failed to send a keep-alive", "due to an error of type")
CLAIM = Claim(
    frame=(
        r"/torch/distributed/(?:rendezvous\.py|elastic/rendezvous/)|in (?:_?create_tcp_store|init_process_group"
        r"|wait_for_initial_registration|_?rendezvous\w{0,20}|init_distributed)$|/jax/_src/distributed\.py in"
    ),
    general=True,
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:rendezvous|rdzv\w{0,20}|c10d|tcpstore|etcd\w{0,10}|init_process_group"
        r"|coordination ?service|coordinator|distributed (?:runtime|backend)|process group"
        r"|init_distributed|(?:nodes?|machines?|workers?|peers?|hosts?|process(?:es)?) to (?:join"
        r"|start|connect|register|be ready|come)|multi ?worker ?mirrored ?strategy|grpc (?:channel"
        r"|server)|store based barrier"
        r"|clients? joined)\b"
    ),
    general=True,
)
PATTERNS = (
    Pattern("clients joined", r"(?P<joined>\d{1,12})/(?P<wanted>\d{1,12}) clients joined"),
    Pattern("RendezvousTimeoutError", without=_TEARDOWN),
    Pattern("Timed out after", r"DistStoreError: Timed out after", weight=90),
    Pattern("store based barrier", r"Timed out initializing process group in store based barrier", weight=90),
    Pattern(
        "store based barrier", r"(?i)timed out initializing process group in store based barrier", weight=WEAK
    ),
    Pattern(
        "store based barrier",
        r"(?i)waiting in store based barrier.{0,200}world_size=(?P<size>\d{1,7}), worker_count=(?P<count>\d{1,7})",
        weight=ENDED - 1,
    ),
    Pattern("waitForInput: poll for socket", weight=WEAK),
    Pattern("client socket has timed out after", weight=WEAK),
    Pattern("connect() timed out", r"connect\(\) timed out. Original timeout", weight=WEAK),
    Pattern("Barrier timed out", r"DEADLINE_EXCEEDED", weight=ENDED),
    Pattern("RendezvousConnectionError", weight=ENDED, without=_TEARDOWN),
    Pattern("RendezvousClosedError", weight=ENDED, without=_TEARDOWN),
    Pattern("d_rendezvous_backend.py", r"c10d_rendezvous_backend\.py\W{1,3}line \d{1,6}", weight=ECHO - 8),
    Pattern("Socket Timeout", weight=ECHO),
    Pattern("client socket has failed to connect", r"errno: 111 - Connection refused", weight=ECHO),
)
_DIALLED = re.compile(r"connect to \(?([A-Za-z\d][\w.-]{0,80})[,:]")


def judge(seen: Evidence) -> Optional[Case]:
    """The culprit is the one node that did not join, and so does not wait for others, or the head that did not
    answer."""
    case = seen.case("rendezvous-timeout")
    if case is None:
        return None
    if case.hits[0].steps and "Socket Timeout" in case.hits[0].line.text:
        return None  # after a step of training, a rank waited in a collective
    waiting = {h.line.node for h in case.hits if _DIALLED.search(h.line.text) is None}
    absent = seen.nodes - waiting
    if waiting - {None} and len(absent) == 1:
        return case._replace(node=next(iter(absent)))
    heads = [m.group(1) for h in case.hits for m in [_DIALLED.search(h.line.text)] if m]
    if heads and heads[0] in seen.nodes:
        return case._replace(node=heads[0])
    return case
