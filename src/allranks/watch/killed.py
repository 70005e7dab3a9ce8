"""Which rank a signal ended: the kernel's want of memory, a fault of native code, or somebody's wish.

NCCL's watchdog ends a rank that only waited by SIGABRT: what such a rank's own log says decides who it blames.
"""

from __future__ import annotations

import re
import signal
from typing import Any, Collection, Iterable, List, Mapping, Optional, Sequence

from allranks.watch.gone import lost_nodes
from allranks.watch.kernel import OUT_OF_MEMORY
from allranks.watch.state import RankState, RunState
from allranks.watch.who import LATE_SECONDS, collateral, one_line
from allranks.words import Diagnosis, Where


def by_signal(run: RunState, waited: Collection[int] = (), read: Collection[int] = ()) -> Optional[Diagnosis]:
    """`waited` are the ranks that SIGABRT ended because they waited (`reading.aborted_waiting`), `read` those whose
    log was read: of an abort without a log nobody knows what it was."""
    dead = [r for r in run.ranks.values() if r.code is not None and r.code < 0 and r.rank not in waited]
    ours = [r for r in dead if r.code == -signal.SIGTERM and not _first_to_die(run, r)]
    suspects = [r for r in dead if r not in ours and not _stopped_by_us(run, r)]
    lost = lost_nodes(run)
    if lost and not any(r.code != -signal.SIGTERM for r in suspects):
        return None
    if not suspects:
        return None
    rank = min(suspects, key=lambda r: (r.code == -signal.SIGTERM, r.ended_at or 0.0, r.rank))
    name = signal_name(-(rank.code or 0))
    starved = _out_of_memory(run, rank)
    if starved:
        return _by_kernel(run, rank, starved)
    return _from_outside(run, rank, name) if _from_elsewhere(rank) else _from_inside(run, rank, name, read)


def _from_elsewhere(rank: RankState) -> bool:
    return _cause_of_signal(-(rank.code or 0)) != "rank-crashed-first"


def _from_outside(run: RunState, rank: RankState, name: str) -> Diagnosis:
    return Diagnosis(
        cause=_cause_of_signal(-(rank.code or 0)),
        confidence="likely",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(
            f"rank {rank.rank} on {rank.node} was ended by {name}",
            *_table(run, rank),
            *_unread(run, rank),
        ),
        collateral=collateral(run, [rank]),
        why=f"{name} came from outside the process (out of memory, a person, a scheduler); who sent it no event says.",
        fix=f"on {rank.node}: dmesg -T | grep -i -e oom -e killed; free memory or fewer workers.",
    )


def _from_inside(run: RunState, rank: RankState, name: str, read: Collection[int]) -> Diagnosis:
    unread = rank.code == -signal.SIGABRT and rank.rank not in read
    why = f"{name} is a fault of native code in that process."
    if unread:
        why = f"{name} comes from native code in that process, or from a watchdog that ended it: its log was not read."
    return Diagnosis(
        cause="rank-crashed-first",
        confidence="likely" if unread else "certain",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(f"rank {rank.rank} on {rank.node} was ended by {name}", *_table(run, rank)),
        collateral=collateral(run, [rank]),
        why=why,
        fix=f"read the last lines of rank {rank.rank}'s log; run with --debug for the native stack.",
    )


def _unread(run: RunState, rank: RankState) -> List[str]:
    """Where the kernel could not be asked, that it said nothing proves nothing."""
    node = run.nodes.get(rank.node or "")
    if rank.code != -signal.SIGKILL or node is None or not node.kernel_unread:
        return []
    return [
        f"the kernel's log of {node.name} could not be read ({one_line(node.kernel_unread, 120)}): whether it was"
        " out of memory is not known"
    ]


def _out_of_memory(run: RunState, rank: RankState) -> List[str]:
    """What the kernel of its node said of memory when it was asked after this death."""
    node = run.nodes.get(rank.node or "")
    if rank.code != -signal.SIGKILL or node is None or node.kernel_at is None:
        return []
    asked_after = node.kernel_at >= (rank.gone_at or 0.0) - LATE_SECONDS
    return [line for line in node.kernel if OUT_OF_MEMORY.search(line)] if asked_after else []


def _by_kernel(run: RunState, rank: RankState, lines: Sequence[str]) -> Diagnosis:
    """The pid in the kernel's line is the machine's; in a container the rank's own is another one."""
    pid = rank.identity[2] if rank.identity else None
    named = any(re.search(rf"\bprocess {pid}\b|\bpid={pid}\b", line, re.IGNORECASE) for line in lines)
    said = [one_line(line) for line in lines[-3:]]
    return Diagnosis(
        cause="cpu-oom-killed",
        confidence="certain" if named else "likely",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=(
            f"rank {rank.rank} on {rank.node} was ended by SIGKILL",
            *(f"kernel: {line}" for line in said),
        ),
        collateral=collateral(run, [rank]),
        why="the kernel ended it: the machine, or its control group, was out of memory.",
        fix=f"on {rank.node}: free memory, fewer data loader workers, a higher limit of the container or job.",
    )


def _stopped_by_us(run: RunState, rank: RankState) -> bool:
    """A process that does not heed SIGTERM (a stopped one cannot) gets SIGKILL when we stop the run."""
    return run.stopping_at is not None and (rank.ended_at or 0.0) > run.stopping_at + LATE_SECONDS


def _first_to_die(run: RunState, rank: RankState) -> bool:
    """Whether nothing went wrong before this rank's end, nor did we stop it: then SIGTERM came from outside."""
    at = rank.ended_at or 0.0
    if run.stopping_at is not None and run.stopping_at <= at + LATE_SECONDS:
        return False
    others = [
        r.ended_at for r in run.ranks.values() if r is not rank and r.code not in (None, -signal.SIGTERM)
    ]
    raised = [e.at for r in run.ranks.values() for e in r.exceptions]
    return not any(t is not None and t <= at + LATE_SECONDS for t in (*others, *raised))


def _cause_of_signal(number: int) -> str:
    """SIGTERM, SIGHUP and SIGINT are somebody's wish, SIGKILL mostly the kernel's, the others a fault inside."""
    if number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        return "torchelastic-signal"
    return "rank-sigkilled" if number == signal.SIGKILL else "rank-crashed-first"


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _table(run: RunState, rank: RankState) -> List[str]:
    node = run.nodes.get(rank.node or "")
    rows: Iterable[Mapping[str, Any]] = node.failures if node else ()
    return [
        f"torchrun on {rank.node}: rank {f.get('rank')} exit code {f.get('code')}" for f in list(rows)[:4]
    ]
