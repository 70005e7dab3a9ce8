"""Reads the texts of a run for the ranking: the logs, the exceptions and the kernel logs, as signals.

Events show which rank failed and when; texts show why. The text of the guilty rank and its node counts more than any
other.
"""

from __future__ import annotations

import re
import signal
from typing import FrozenSet, Iterable, List, Mapping, Optional, Sequence, Tuple

from allranks.core import Event
from allranks.core.communication import blames
from allranks.core.rank_events import Raised
from allranks.diagnose import Evidence, Line, Signal, Told, parse, weighed
from allranks.monitor.kernel_log import concerns, kernel_lines
from allranks.monitor.run_state import RankState, RunState

Logs = Mapping[Tuple[Optional[str], Optional[int], str], Sequence[str]]

LINES_READ = 100_000
"""At most so many lines are read for a verdict, in some seconds: 250 ranks with the last 400 lines of their logs."""

SHARED_MEMORY = "/dev/shm"
ROOM_BYTES = 1 << 30
"""Samples come every five seconds. The ranks of a node rarely fill so much memory in between."""

OWN_FAULT = re.compile(
    r"CUDA error|illegal memory access|device-side assert|uncorrectable|CUBLAS_STATUS|CUDNN_STATUS"
    r"|Assertion [`'].{0,400}failed"
    r"|double free|free\(\): |malloc\(\)|munmap_chunk\(\)|corrupted (size|double-linked|unsorted)|stack smashing"
)
"""A watchdog also ends a rank whose own GPU failed, and glibc ends a rank whose heap or stack is broken. These are
their messages."""


def own_logs(logs: Logs, rank: RankState) -> List[Sequence[str]]:
    return [lines for (_, number, _), lines in logs.items() if number == rank.rank]


def logs_read(logs: Logs) -> FrozenSet[int]:
    """The ranks of which some part of the log was read."""
    return frozenset(n for (_, n, _), lines in logs.items() if n is not None and any(map(str.strip, lines)))


def aborted_waiting(run: RunState, logs: Logs) -> FrozenSet[int]:
    """Ranks that SIGABRT ended and whose log only blames others: NCCL's watchdog ends ranks that wait too long."""
    aborted = [r for r in run.ranks.values() if r.code == -signal.SIGABRT]
    return frozenset(r.rank for r in aborted if _only_blames(own_logs(logs, r)))


def _only_blames(own: Iterable[Sequence[str]]) -> bool:
    lines = [line for part in own for line in part]
    return any(map(blames, lines)) and not any(map(OWN_FAULT.search, lines))


def read_culprit(run: RunState, logs: Logs, rank: RankState) -> Signal:
    """The cause that this rank's exceptions, its log, its node's logs and its node's kernel log show."""
    own = own_logs(logs, rank)
    nodes = [
        lines for (node, number, _), lines in logs.items() if number is None and node in (rank.node, None)
    ]
    seen = Evidence()
    _add_samples(seen, run)
    _add_exceptions(seen, [rank])
    for line in kernel_lines(run, rank) if concerns(rank) else ():
        seen.add(line)
    for lines in own:
        _feed(seen, lines, rank.rank, rank.node)
    for lines in nodes:
        _feed(seen, lines, None, rank.node)
    return weighed(seen)


def read_node(logs: Logs, name: Optional[str]) -> Signal:
    """The cause that a node's own logs (torchrun's and the supervisor's) show."""
    seen = Evidence()
    for (node, number, _), lines in logs.items():
        if number is None and node in (name, None):
            _feed(seen, lines, None, name)
    return weighed(seen)


def read_all(run: RunState, logs: Logs) -> Signal:
    """The cause that all exceptions, logs and kernel logs together show."""
    seen = Evidence()
    _add_samples(seen, run)
    if run.world_size:
        seen.world_sizes[None] = {run.world_size}
    _add_exceptions(seen, run.ranks.values())
    for line in kernel_lines(run):
        seen.add(line)
    left = LINES_READ
    for (node, number, source), lines in sorted(
        logs.items(), key=lambda item: (item[0][1] is not None, str(item[0]))
    ):
        if left <= 0:
            break
        _feed(seen, lines[:left], number, node, source)
        left -= len(lines)
    return weighed(seen)


def _add_samples(seen: Evidence, run: RunState) -> None:
    for node in run.nodes.values():
        free = [disk.free_bytes for disk in node.sample.disks or () if disk.path == SHARED_MEMORY]
        if free and free[0] is not None and free[0] >= ROOM_BYTES:
            seen.with_shared_memory.add(node.name)


def _feed(
    seen: Evidence, lines: Iterable[str], rank: "int | None", node: "str | None", source: "str | None" = None
) -> None:
    """Adds a log. Its file name gives its rank; the prefixes of the lines may add to that."""
    for line in parse(list(lines), source or None):
        seen.add(line._replace(rank=rank if line.rank is None else line.rank, node=node or line.node))


def _add_exceptions(seen: Evidence, ranks: Iterable[RankState]) -> None:
    """Adds the ranks' exceptions, the earliest first. The cause of an exception comes before it."""
    raised: List[Tuple[float, RankState, Event]] = [(e.at, r, e) for r in ranks for e in r.exceptions]
    for _, rank, event in sorted(raised, key=lambda item: (item[0], item[1].rank)):
        place = Line("", rank=rank.rank, node=rank.node, source=f"event-{rank.rank}")
        exception: Raised = event.payload
        for one in exception.causes:
            seen.add_exception(Told(one.type, one.message), place)
        told = Told(exception.type, exception.message, exception.innermost, exception.communication)
        seen.add_exception(told, place)
