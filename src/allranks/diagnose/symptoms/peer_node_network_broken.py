"""The network to a node broke.

## How it is found
`Connect to <ip> failed : Connection refused` from many ranks to one address, `Connection timed out`,
`Network is unreachable` or `No route to host` in a run that had trained; or every rank of every node times
out and none is silent.

Easily confused with collective-timeout-straggler, where one rank is silent; data-ports-blocked, where no step
was ever trained.

## Why it matters
The ranks are alive, but their packets do not arrive: link, switch, firewall or a dead node. No rank can continue.

## What to do
Look at that node's link (`ip -s link`, switch, kernel log) and `ping` it from the others; leave the node
out until it is repaired.

## Source
NCCL prints `Connect to … failed` in `src/misc/socket.cc` (2.26.2) and `connect to … failed` in
`src/os/linux.cc` (2.30.7). `Connection timed out`, `Network is unreachable` and `No route to host` are
glibc's, `sysdeps/gnu/errlist.h`. The other texts are as people posted them in public reports.

Topic: network
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import END, PASSES, UNPROVEN, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, ENDED, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nccl_remote_process_exited import CAUSE as NCCL_REMOTE_PROCESS_EXITED

CAUSE = Cause(
    __name__,
    kind=END,
    hearsay=True,
    restart=PASSES,
    of_one_end=True,
    is_outage=True,
    fix_of_rank="look at {node}: its links, its switch port, its firewall; ping it from the others.",
)
QUIET_SECONDS = 5.0
"""A silence longer than this before all nodes end together is a wait, not a crash (torchrun ends within 3 s of one)."""
COMPLAINT = Complaint(
    subject=(
        r"(?i)\blink (?:is |went )?(?:down|flap\w{0,4})|\bnetwork (?:is )?(?:down|failure|partition|error)"
        r"|\bpacket loss|\bswitch port|\bcable (?:is )?unplugged"
    ),
    general=True,
)
PATTERNS = (
    Pattern("Software caused connection abort", r"NCCL|ocket|gloo", weight=ENDED),
    Pattern("Call to connect failed", weight=ENDED),
    Pattern(
        "Connect to",
        r"Connect to [\d.]{1,45}\S{0,120} failed : Connection refused",
        weight=ENDED,
    ),
    Pattern("connect to", r"connect to [\d.]{1,45}\S{0,120} failed.{0,40}refused", weight=ENDED),
    Pattern(
        "Connection timed out",
        r"gloo|NCCL|pair\.cc|socket|readv|writev|Call to (?:recv|send)",
        weight=ENDED,
        without=("ssh",),
    ),
    Pattern(
        "Network is unreachable",
        r"gloo|NCCL|pair\.cc|socket|ncclSystemError",
        weight=ENDED,
        without=("TCPStore", "c10d"),
    ),
    Pattern(
        "No route to host",
        r"(?:readv|writev|Call to (?:recv|send)|pair\.cc:(?!1[0-9]{2}\b))",
        weight=ENDED,
        without=("connectFullMesh", "willRetry"),
    ),
    Pattern(
        "ink down", r"(?:NIC|eth\d|ib\d|mlx5_\d|\bens\w{1,12}\b).{0,40}[Ll]ink (?:is )?[Dd]own", weight=ENDED
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """One more case: several nodes, all ranks wait, none is silent and none has crashed."""
    case = seen.case("peer-node-network-broken")
    if case is not None:
        return case
    crashed = [r for _, r in seen.raised() if not r.communication]
    if len(seen.nodes) < 2 or crashed or not seen.steps:
        return None
    waits = seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id, [])
    nodes = {seen.node_of(hit.line) for hit in waits}
    if len(nodes) > 1 and not seen.silent() and not seen.hits.get(NCCL_REMOTE_PROCESS_EXITED.id):
        why = (
            "Every rank of every node timed out and none is silent: no rank was "
            "late, the nodes could not reach each other."
        )
        return Case("peer-node-network-broken", ECHO + 4, tuple(waits[:6]), "likely", why=why)
    return None if waits else _ended_together(seen)


def _ended_together(seen: Evidence) -> Optional[Case]:
    """Tables alone: all nodes' ranks end with 1 in the same seconds, after a silence, and no line gives a reason."""
    failed = [e for e in seen.exits if e.code == 1]
    nodes = {seen.node_of(e.line) for e in failed}
    if (
        len(nodes) < 2
        or seen.blamers()
        or any(e.code not in (1, -15) for e in seen.exits)
        or seen.last_step is None
    ):
        return None
    times = [e.at for e in failed if e.at is not None]
    stepped = seen.now(seen.last_step[1])
    if (
        not times
        or stepped is None
        or min(times) - stepped < QUIET_SECONDS
        or max(times) - min(times) > QUIET_SECONDS
    ):
        return None
    quiet = min(times) - stepped
    hits = tuple(Hit("peer-node-network-broken", ECHO, e.line, e.order, e.at, 0) for e in failed[:4])
    why = f"After {quiet:.0f} s without a step the ranks of all nodes ended within the same seconds, and none says why."
    return Case("peer-node-network-broken", ECHO, hits, UNPROVEN, why=why)
