"""Finds the rank that a signal ended: the OOM killer, a fault of native code, or a request.

NCCL's watchdog ends a rank that only waited by SIGABRT. The rank's own log shows which rank it blames.
"""

from __future__ import annotations

import math
import re
import signal
from typing import Collection, Dict, List, Optional, Sequence, Tuple

from allranks.core import Diagnosis
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.cpu_oom_killed import CAUSE as CPU_OOM_KILLED
from allranks.diagnose.symptoms.rank_crashed_first import CAUSE as RANK_CRASHED_FIRST
from allranks.diagnose.symptoms.rank_sigkilled import CAUSE as RANK_SIGKILLED
from allranks.diagnose.symptoms.rank_terminated import CAUSE as RANK_TERMINATED
from allranks.monitor.aggregation import numbers
from allranks.monitor.culprit import LATE_SECONDS, end_of_rank
from allranks.monitor.lost_nodes import lost_nodes
from allranks.monitor.run_state import NodeState, RankState, RunState

WISHES = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
"""Signals that ask a process to end, from a person, a scheduler, earlyoom, torchrun or allranks. SIGKILL mostly comes
from the kernel; other signals come from a fault inside the process."""

SAME_SECONDS = 0.05
"""If two ranks of one node ended closer together than this, the supervisor may have seen both ends in one look.
torchrun looks every 0.1 s."""


def by_signal(run: RunState, waited: Collection[int] = (), read: Collection[int] = ()) -> Optional[Diagnosis]:
    """The diagnosis of the first rank that a signal ended. `waited` are the ranks that SIGABRT ended because they
    waited (`log_attribution.aborted_waiting`). `read` are the ranks whose log was read: without its log, the reason
    of an abort is unknown."""
    dead = [r for r in run.ranks.values() if r.code is not None and r.code < 0 and r.rank not in waited]
    ends = Ends(run)
    asked = [r for r in dead if -(r.code or 0) in WISHES and is_foreign(run, r, ends)]
    suspects = [r for r in dead if -(r.code or 0) not in WISHES and not _stopped_by_us(run, r)]
    if not suspects and (not asked or lost_nodes(run)):
        return None
    rank = _first(asked, suspects)
    name = signal_name(-(rank.code or 0))
    starved = _out_of_memory(run, rank)
    if starved:
        return _by_kernel(run, rank, starved)
    if -(rank.code or 0) in WISHES:
        return _asked_to_end(run, rank, name)
    killed = rank.code == -signal.SIGKILL
    return _from_outside(run, rank, name) if killed else _from_inside(run, rank, name, read)


def _first(asked: Sequence[RankState], others: Sequence[RankState]) -> RankState:
    """The rank that ended first. Another signal counts more than SIGTERM, unless it clearly came later: a rank that
    loses its peer may be aborted for that reason."""

    def end(rank: RankState) -> Tuple[float, int]:
        return rank.ended_at or 0.0, rank.rank

    first = min(others or asked, key=end)
    sooner = [r for r in asked if others and end(r)[0] < end(first)[0] - LATE_SECONDS]
    return min(sooner, key=end) if sooner else first


def _asked_to_end(run: RunState, rank: RankState, name: str) -> Diagnosis:
    there = [
        r for r in run.ranks.values() if r.node == rank.node and r.rank != rank.rank and r.code == rank.code
    ]
    same = [f"ranks {numbers(there)} on {rank.node} ended by {name}, too"] if there else []
    said = f"rank {rank.rank} on {rank.node} was ended by {name}, which allranks did not send"
    return end_of_rank(
        run,
        rank,
        RANK_TERMINATED.id,
        "certain",
        [said, *same, *_table(run, rank)],
        why=f"{name} came before allranks stopped anything and before torchrun there had a reason to: earlyoom, a"
        " scheduler or a person sent it. The other ranks only lost their peer.",
        fix=f"on {rank.node}: journalctl -u earlyoom -u systemd-oomd, the scheduler's log, and who ran kill there.",
    )


def _from_outside(run: RunState, rank: RankState, name: str) -> Diagnosis:
    return end_of_rank(
        run,
        rank,
        RANK_SIGKILLED.id,
        "likely",
        [f"rank {rank.rank} on {rank.node} was ended by {name}", *_table(run, rank), *_unread(run, rank)],
        why=f"{name} came from outside the process (out of memory, a person, a scheduler); the sender is unknown.",
        fix=f"on {rank.node}: dmesg -T | grep -i -e oom -e killed. If the OOM killer did it, free host memory "
        f"or lower dataloader_num_workers.",
    )


def _from_inside(run: RunState, rank: RankState, name: str, read: Collection[int]) -> Diagnosis:
    unread = rank.code == -signal.SIGABRT and rank.rank not in read
    why = f"{name} is a fault of native code in that process."
    if rank.code == -signal.SIGBUS:
        why = (
            f"{name}: a page of mapped memory could not be read: a mapped file was cut or its storage failed."
        )
    if unread:
        why = f"{name} comes from native code in that process, or from a watchdog that ended it: its log was not read."
    return end_of_rank(
        run,
        rank,
        RANK_CRASHED_FIRST.id,
        "likely" if unread else "certain",
        [f"rank {rank.rank} on {rank.node} was ended by {name}", *_table(run, rank)],
        why=why,
        fix=f"read the last lines of rank {rank.rank}'s log; run with --debug for the native stack.",
    )


def _unread(run: RunState, rank: RankState) -> List[str]:
    """A note that the kernel's log could not be read, so a missing line proves nothing."""
    node = run.nodes.get(rank.node or "")
    if rank.code != -signal.SIGKILL or node is None or not node.kernel_unread:
        return []
    return [
        f"the kernel's log of {node.name} could not be read ({clean(node.kernel_unread, 120)}): whether it was"
        " out of memory is not known"
    ]


def _out_of_memory(run: RunState, rank: RankState) -> List[str]:
    """The lines about memory in the kernel log of the rank's node, if that log was read after the rank's death."""
    node = run.nodes.get(rank.node or "")
    if rank.code != -signal.SIGKILL or node is None or node.kernel_at is None:
        return []
    asked_after = node.kernel_at >= (rank.gone_at or 0.0) - LATE_SECONDS
    return [line for line in node.kernel if CPU_OOM_KILLED.tells(line)] if asked_after else []


def _by_kernel(run: RunState, rank: RankState, lines: Sequence[str]) -> Diagnosis:
    """Certain only if a line names the rank's pid. The kernel writes the machine's pid, which differs from the pid in
    a container."""
    pid = rank.identity[2] if rank.identity else None
    named = any(re.search(rf"\bprocess {pid}\b|\bpid={pid}\b", line, re.IGNORECASE) for line in lines)
    said = [f"kernel: {clean(line)}" for line in lines[-3:]]
    return end_of_rank(
        run,
        rank,
        CPU_OOM_KILLED.id,
        "certain" if named else "likely",
        [f"rank {rank.rank} on {rank.node} was ended by SIGKILL", *said],
        why="the kernel ended it: the machine, or its control group, was out of memory.",
        fix=f"on {rank.node}: free memory, fewer data loader workers, a higher limit of the container or job.",
    )


def _stopped_by_us(run: RunState, rank: RankState) -> bool:
    """Whether allranks ended it: when allranks stops the run, a process that ignores SIGTERM gets SIGKILL. A stopped
    process cannot handle SIGTERM."""
    return run.stopping_at is not None and (rank.ended_at or 0.0) > run.stopping_at + LATE_SECONDS


class Ends:
    """The ends of all ranks and nodes, read once: torchruns may end thousands of ranks, and each is judged by them."""

    def __init__(self, run: RunState):
        first: Dict[str, float] = {}
        self.on_node: Dict[Optional[str], List[RankState]] = {}

        def note(node: Optional[str], at: Optional[float]) -> None:
            if at is not None and at < first.get(str(node), math.inf):
                first[str(node)] = at

        for node in run.nodes.values():
            if node.ended_code:
                note(node.name, node.ended_at)
        for rank in run.ranks.values():
            self.on_node.setdefault(rank.node, []).append(rank)
            for event in rank.exceptions:
                note(rank.node, event.at)
            if rank.code not in (None, 0):
                note(rank.node, rank.ended_at)
        self._first = sorted((at, node) for node, at in first.items())[:2]  # one of two is on another node

    def went_wrong_elsewhere(self, node: Optional[str], at: float) -> bool:
        """Whether another node reported an error clearly before `at`, which may be the reason."""
        return any(other != str(node) and end < at - LATE_SECONDS for end, other in self._first)


def is_foreign(run: RunState, rank: RankState, ends: Ends) -> bool:
    """Whether a rank's SIGTERM came neither from allranks nor from torchrun. On one node the order of events is
    exact: a SIGTERM from allranks comes after `stopping`, one from torchrun after the end of torchrun or of another
    rank of that node. A torchrun that ended and names no rank has ended all of them itself."""
    at, node = rank.ended_at or 0.0, run.nodes.get(rank.node or "")
    if was_stopped(run, node, at) or ends.went_wrong_elsewhere(rank.node, at):
        return False
    if node is not None and node.ended_at is not None and (node.ended_at <= at or not node.failures):
        return False
    return not any(_made_torchrun_stop(other, rank, at) for other in ends.on_node.get(rank.node, ()))


def _made_torchrun_stop(other: RankState, rank: RankState, at: float) -> bool:
    """Whether torchrun ended `rank` at `at` because its rank `other` had failed. If one look sees two ends, their
    order is unknown."""
    ended = other.ended_at
    if other is rank or other.node != rank.node or other.code == 0 or ended is None:
        return False
    if other.code == rank.code:
        return (ended, other.rank) < (at, rank.rank)
    return ended <= at + SAME_SECONDS


def was_stopped(run: RunState, node: Optional[NodeState], at: float) -> bool:
    """Whether allranks was stopping this node at `at`, by the node's clock; if the node sent no such event, by any
    node's."""
    if node is not None and node.stopping_at is not None:
        return node.stopping_at <= at
    return run.stopping_at is not None and run.stopping_at <= at + LATE_SECONDS


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _table(run: RunState, rank: RankState) -> List[str]:
    node = run.nodes.get(rank.node or "")
    failures = node.failures[:4] if node else ()
    return [f"torchrun on {rank.node}: rank {f.rank} exit code {f.code}" for f in failures]
