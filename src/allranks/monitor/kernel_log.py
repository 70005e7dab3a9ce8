"""The kernel's lines: which GPU an Xid is about, and which lines concern a rank's end."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Iterator, List, Optional, Tuple

from allranks.core import Diagnosis
from allranks.diagnose import Line, cause
from allranks.diagnose.symptoms.cpu_oom_killed import CAUSE as CPU_OOM_KILLED
from allranks.diagnose.symptoms.xid_gpu_fault import CAUSE as XID_GPU_FAULT
from allranks.monitor.culprit import LATE_SECONDS
from allranks.monitor.run_state import NodeState, RankState, RunState

PID = re.compile(r"\bpid='?(\d{1,9})\b")
MACHINES_WORDS = re.compile(
    r"cuda|cudnn|cublas|nccl|nvml|\bgpu\b|device|i/o error|input/output|errno 5\b|stale|bus error|killed by signal"
    r"|out of memory|no space|read-only file system|sigkill",
    re.IGNORECASE,
)
"""An exception with such a word may come from the machine; a KeyError does not."""

OWN_WORDS = ("uncorrectable ECC error", "fallen off the bus", "GPU is lost")


def words(node: NodeState, lines: int = 3) -> List[str]:
    """The kernel's last lines as evidence; or a note that its log could not be read, so that a missing line proves
    nothing."""
    kept = [f"kernel of {node.name}: {line}" for line in node.kernel[-lines:]]
    unread = f"the kernel's log of {node.name} could not be read ({node.kernel_unread})"
    return [*kept, unread] if node.kernel_unread else kept


def bus_of(text: str) -> Tuple[int, ...]:
    """The device's (domain, bus, device): `0000:53:00` and `00000000:53:00.0` are the same."""
    parts = text.split(".", 1)[0].split(":")
    try:
        return tuple(int(part, 16) for part in parts)
    except ValueError:
        return ()


def owner(run: RunState, node: NodeState, line: str) -> Tuple[bool, Optional[RankState]]:
    """(whether an Xid's GPU may belong to the run, the rank whose GPU or process it names). The log also has other
    jobs' GPUs. Its pids are the machine's, not those inside a container."""
    found = XID_GPU_FAULT.tells(line)
    if found is None:
        return True, None
    ours = [r for r in run.ranks.values() if r.node == node.name]
    bus = bus_of(found.group("bus"))
    for rank in ours:
        if rank.bus_id and bus_of(rank.bus_id) == bus:
            return True, rank
    if ours and all(rank.bus_id for rank in ours):
        return False, None
    pid = PID.search(line)
    named = [
        r for r in ours if pid is not None and r.identity is not None and str(r.identity[2]) == pid.group(1)
    ]
    return True, named[0] if len(named) == 1 else None


def kernel_lines(run: RunState, rank: Optional[RankState] = None) -> Iterator[Line]:
    """The kernels' lines about GPUs and memory; an Xid counts as a line of the rank that it names. With `rank`: only
    the lines of its node, without those about other ranks' GPUs; lines that are not an Xid are included if the rank's
    own exception may come from the machine."""
    for node in run.nodes.values():
        if rank is not None and node.name != rank.node:
            continue
        before = node.kernel_at is not None and node.kernel_at < (run.trouble_at or 0.0) - LATE_SECONDS
        for text in node.kernel:
            ours, who = owner(run, node, text)
            if CPU_OOM_KILLED.tells(text):
                # An earlier line is about another process.
                tells = not before and (rank is None or _failed(run, rank))
            elif XID_GPU_FAULT.tells(text):
                tells = ours and (rank is None or who is rank or (who is None and _failed(run, rank)))
            else:
                tells = rank is not None and _raised_of_the_machine(rank)
            if tells:
                yield Line(text, rank=who.rank if who is not None else None, node=node.name)


def _failed(run: RunState, rank: RankState) -> bool:
    """Whether the rank ended by itself. If it only stood still until allranks stopped it, the other processes and
    GPUs of its node are not the reason."""
    ended = rank.code not in (None, 0) and (
        run.stopping_at is None or (rank.ended_at or 0.0) < run.stopping_at
    )
    return bool(rank.exceptions) or ended


def concerns(rank: RankState) -> bool:
    """Whether the kernel's lines can explain this rank's end: they cannot if its own code raised."""
    own = any(not e.payload.communication for e in rank.exceptions)
    return not own or _raised_of_the_machine(rank)


def _raised_of_the_machine(rank: RankState) -> bool:
    own = [e for e in rank.exceptions if not e.payload.communication]
    return any(MACHINES_WORDS.search(e.payload.text) for e in own)


def judged(run: RunState, found: Diagnosis) -> Diagnosis:
    """Lowers the confidence of a diagnosis from a kernel's line to "likely", unless the line names the rank's GPU or
    process or the rank reports the same: the line may be about another job on that node."""
    node = run.nodes.get(found.where.node or "")
    lines = [text for text in node.kernel if cause(found.cause).tells(text)] if node is not None else []
    if node is None or found.confidence != "certain" or not lines:
        return found
    number = found.where.rank
    rank = run.ranks.get(number) if number is not None else None
    pid = rank.identity[2] if rank is not None and rank.identity else None
    named = any(re.search(rf"\b(process {pid}\b|pid='?{pid}\b)", text, re.IGNORECASE) for text in lines)
    gpus = [who for _, who in (owner(run, node, text) for text in lines) if who is not None]
    if named or any(who is rank for who in gpus) or _says_so(rank):
        return found
    return replace(found, confidence="likely")


def _says_so(rank: Optional[RankState]) -> bool:
    messages = [e.payload.message for e in rank.exceptions] if rank is not None else []
    return any(word in message for message in messages for word in OWN_WORDS)
