"""Finds the guilty rank or node from events alone: one function for each way in which a run ends."""

from __future__ import annotations

from typing import Collection, Iterable, List, Optional, Tuple

from allranks.core import Diagnosis, Event, Where, communication
from allranks.core.causes import UNPROVEN
from allranks.core.rank_events import Raised
from allranks.core.stack_places import place_of
from allranks.core.text import plural
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.rank_crashed_first import CAUSE as RANK_CRASHED_FIRST
from allranks.monitor import sockets
from allranks.monitor.aggregation import numbers
from allranks.monitor.run_state import RankState, RunState

LATE_SECONDS = 0.5
"""The nodes' clocks are corrected to about a network round trip. If two ranks died closer together than this, the
kind of the death decides, not the time."""


def is_communication(event: Event) -> bool:
    """Whether an `exception` event only reports that a peer was lost or late."""
    raised: Raised = event.payload
    if raised.communication is not None:
        return raised.communication
    return communication.is_communication([raised.type], raised.message)


def place(event: Event) -> Tuple[str, str]:
    """The exception's type and the place in the code, to compare the exceptions of two ranks."""
    file, line, _ = last_frame(event)
    return event.payload.type, f"{file}:{line}"


def last_frame(event: Event) -> Tuple[Optional[str], Optional[int], str]:
    """(file, line, function) that raised the exception."""
    frames = event.payload.innermost
    return frames[-1] if frames else (None, None, "?")


# ---- an exception that is not a communication error ----


def by_exception(run: RunState) -> Optional[Diagnosis]:
    raised = [(e.at, r, e) for r in run.ranks.values() for e in r.exceptions if not is_communication(e)]
    if not raised:
        return None
    _, rank, event = min(raised, key=lambda item: (item[0], item[1].rank))
    same = [r for _, r, e in raised if place(e) == place(event)]
    everywhere = len(same) > 1 and len(same) == (run.world_size or len(run.ranks))
    text = event.payload.text
    who = (
        f"all {len(same)} ranks raise it at the same place: the configuration, not one machine."
        if everywhere
        else ""
    )
    folder, lost = event.payload.folder, collateral(run, same)
    doubted = [
        r
        for at, r, e in raised
        if r.node != rank.node and at - event.at < LATE_SECONDS and place(e) != place(event)
    ]
    return Diagnosis(
        cause=RANK_CRASHED_FIRST.id,
        confidence="likely" if doubted else "certain",
        where=_where(rank, event),
        first_seen=event.at,
        evidence=(
            f"rank {rank.rank} on {rank.node}: {clean(text)}",
            *_frames(event),
            *([who] if who else []),
            *(
                f"rank {r.rank} on {r.node} raised another within {LATE_SECONDS:g} s, which clocks may turn round"
                for r in doubted[:3]
            ),
        ),
        collateral=lost,
        why=who
        or f"rank {rank.rank} raised it first"
        + (f"; {plural(len(lost), 'other rank')} only lost {peer_of(lost)}." if lost else "."),
        fix=file_beside(folder)
        if folder
        else "change the configuration or the script, not the machines."
        if everywhere
        else "look at that line and its data.",
    )


RANK_WAS_IN = "the rank was in "


def file_beside(folder: str) -> str:
    """What to do if a rank in `folder` found no file of a relative path."""
    return f"{RANK_WAS_IN}{clean(folder)}: write the file's whole path, or name its folder in train.workdir."


def peer_of(lost: Collection[Where]) -> str:
    return "its peer" if len(lost) == 1 else "their peer"


def _frames(event: Event) -> List[str]:
    """The three innermost frames; before them, the innermost frame of the user's own code if it is further out."""
    frames = list(event.payload.innermost)
    shown = frames[-3:]
    own = place_of(frames)
    if own is not None and own not in shown:
        shown.insert(0, own)
    return [f"  {file}:{line} in {function}" for file, line, function in shown]


def _where(rank: RankState, event: Event) -> Where:
    """The innermost line of the user's own code."""
    file, line, _ = place_of(list(event.payload.innermost)) or last_frame(event)
    return Where(node=rank.node, rank=rank.rank, file=file, line=line)


# ---- a stall for which a rank was named ----


def by_stall(run: RunState) -> Optional[Diagnosis]:
    """The rank that held up the others, if nothing has moved since it was named.

    Later errors are its consequences: time-outs that blame each other, a watchdog's SIGABRT, the stop by allranks.
    """
    if run.held_up is None:
        return None
    at, odd, finding = run.held_up
    if any((r.moved_at or 0.0) > at for r in run.ranks.values()) or odd.rank not in run.ranks:
        return None
    culprits = [
        r
        for r in run.ranks.values()
        if r.rank in (odd.rank, *odd.rivals) or (odd.node is not None and r.node == odd.node)
    ]
    guilty = {r.rank for r in culprits}
    others = [r for r in run.ranks.values() if r.rank not in guilty]
    return Diagnosis(
        cause=odd.cause,
        confidence="certain" if odd.proven else "likely",
        where=finding.where,
        first_seen=max((r.moved_at or 0.0 for r in run.ranks.values()), default=at),
        evidence=(clean(finding.saw), *finding.evidence),
        collateral=tuple(Where(node=r.node, rank=r.rank) for r in others if r.alive)
        or collateral(run, culprits),
        why="its stack, its collective and its process were compared with those of all ranks before anything was"
        " stopped.",
        fix=finding.fix,
    )


# ---- an end without a message ----


NO_EXCEPTION = " and no exception was heard"


def by_exit_code(run: RunState) -> Optional[Diagnosis]:
    dead = [r for r in run.ranks.values() if (r.code or 0) > 0 and not r.exceptions]
    if not dead:
        return None
    rank = min(dead, key=lambda r: (r.ended_at or 0.0, r.rank))
    return end_of_rank(
        run,
        rank,
        RANK_CRASHED_FIRST.id,
        "likely",
        [f"rank {rank.rank} on {rank.node} ended with code {rank.code}{NO_EXCEPTION}"],
        why=f"rank {rank.rank} ended first with an error.",
        fix=f"read the end of rank {rank.rank}'s log.",
        guilty=dead,
    )


# ---- ranks that only blame each other ----


def by_communication(run: RunState, waited: Collection[int] = ()) -> Optional[Diagnosis]:
    """The rank that the others waited for, if all errors are communication errors. `waited`: ranks that a watchdog
    ended because they waited; they count as blaming others, like ranks that raise."""
    blaming = [r for r in run.ranks.values() if r.exceptions or r.rank in waited]
    if not blaming:
        return None
    told = {r.rank for r in blaming}
    silent = [r for r in run.ranks.values() if r.rank not in told]
    suspects = sorted(silent, key=lambda r: (r.step if r.step is not None else -1, r.beat_at or 0.0, r.rank))
    if not suspects:
        return unproven(run)
    rank = suspects[0]
    behind = [r for r in suspects if r.step == rank.step]
    seen, first = min((_blamed(r) for r in blaming), key=lambda item: item[0])
    if len(behind) > 1:
        return _one_of(run, blaming, behind, seen, first)
    return Diagnosis(
        cause=COLLECTIVE_TIMEOUT_STRAGGLER.id,
        confidence="likely",
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=seen,
        evidence=(
            f"{_report(blaming)} a communication error, rank {rank.rank} on {rank.node} does not",
            f"rank {rank.rank}: phase {rank.phase}, step {rank.step}, last heard at {rank.beat_at}",
            clean(first),
            *map(clean, sockets.lines(run, rank.rank)),
        ),
        collateral=collateral(run, [rank]),
        why="the others waited for it in a collective until a time-out; it reported nothing itself.",
        fix=f"look at what rank {rank.rank} does there: allranks logs, its stack in stacks/rank-{rank.rank}.txt.",
    )


def _one_of(
    run: RunState, blaming: List[RankState], suspects: List[RankState], seen: float, first: str
) -> Diagnosis:
    """If several ranks report nothing and none is behind the others, no rank is named, only their node if they share
    it."""
    nodes = {r.node for r in suspects}
    who = f"ranks {numbers(suspects)}" + (f" on {suspects[0].node}" if len(nodes) == 1 else "")
    return Diagnosis(
        cause=COLLECTIVE_TIMEOUT_STRAGGLER.id,
        confidence=UNPROVEN,
        where=Where(node=suspects[0].node if len(nodes) == 1 else None),
        first_seen=seen,
        evidence=(
            f"{_report(blaming)} a communication error,"
            f" {who} do not, and none of them is behind the others (step {suspects[0].step})",
            clean(first),
        ),
        collateral=collateral(run, suspects),
        why="the others waited in a collective until it failed; for which of these ranks nothing says.",
        fix=f"look at what {who} do: allranks logs, their stacks in stacks/.",
    )


def _report(ranks: List[RankState]) -> str:
    return f"{plural(len(ranks), 'rank')} {'reports' if len(ranks) == 1 else 'report'}"


def _blamed(rank: RankState) -> Tuple[float, str]:
    """When a rank blamed another one, and its message."""
    if not rank.exceptions:
        return (
            rank.ended_at or 0.0,
            f"rank {rank.rank} was aborted by the watchdog of its communication library",
        )
    first = min(rank.exceptions, key=lambda e: e.at)
    return first.at, f"rank {first.rank}: {first.payload.text}"


# ---- shared ----


def end_of_rank(
    run: RunState,
    rank: RankState,
    cause: str,
    confidence: str,
    evidence: Iterable[str],
    why: str,
    fix: str,
    guilty: Collection[RankState] = (),
) -> Diagnosis:
    """A diagnosis of how one rank ended; `guilty` are the ranks that are not collateral, by default this one."""
    return Diagnosis(
        cause=cause,
        confidence=confidence,
        where=Where(node=rank.node, rank=rank.rank),
        first_seen=rank.ended_at,
        evidence=tuple(evidence),
        collateral=collateral(run, guilty or [rank]),
        why=why,
        fix=fix,
    )


def collateral(run: RunState, culprits: Iterable[RankState]) -> Tuple[Where, ...]:
    """The other ranks that ended with an error: by a lost peer or a SIGTERM."""
    guilty = {r.rank for r in culprits}
    hurt = [r for r in run.ranks.values() if r.exceptions or r.code not in (None, 0)]
    return tuple(
        Where(node=r.node, rank=r.rank) for r in sorted(hurt, key=lambda r: r.rank) if r.rank not in guilty
    )


def unproven(run: RunState) -> Diagnosis:
    bad = [n for n in run.nodes.values() if n.ended_code]
    bad.sort(key=lambda n: n.ended_at or 0.0)
    return Diagnosis(
        cause=UNPROVEN,
        confidence=UNPROVEN,
        where=Where(node=bad[0].name if bad else None),
        first_seen=bad[0].ended_at if bad else None,
        evidence=tuple(f"torchrun on {n.name} ended with code {n.ended_code}" for n in bad[:8]),
        collateral=(),
        why="no event names a cause.",
        fix="read the logs: allranks logs RUN; start again with --debug.",
    )
