"""The run makes no progress.

## How it is found
No rank took a step, changed its phase or moved a progress bar for longer than its limit. In steady training that
is the largest of 12.5 s, five times the median step, 1.5 times the longest recent step or pause, and a limit from
the steps' spread. The limits are longer in the first five steps, while loading, compiling, evaluating or saving,
and after the last step. docs/runs.md has a table of them.

allranks asks all ranks for their stacks a moment before. It reports no-progress only if the answers name no guilty
rank; otherwise it reports rank-holds-up. If the answers come later, rank-holds-up replaces this finding.

## Why it matters
A hung collective waits 10 to 30 minutes before torch reports it, on every GPU of the run.

## What to do
Look at the suspect: the node whose ranks all stopped sending heartbeats, the rank that stopped sending heartbeats, or
else the rank that took fewer steps or is in another phase. Its stack is in stacks/. If no rank differs, all ranks wait
for something outside the run: storage, the network, a lock. If two nodes cannot connect to each other, the finding
names them.

Topic: training
"""

from __future__ import annotations

from typing import Iterator, List, Optional, Tuple

from allranks.core import WARN, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.monitor import sockets, start_patience
from allranks.monitor.aggregation import numbers
from allranks.monitor.detectors.rank_holds_up import HOLDS_SECONDS, culprit, is_named
from allranks.monitor.hang_thresholds import allowed_gap, step_seconds
from allranks.monitor.rank_comparison import answered
from allranks.monitor.run_state import RankState, RunState
from allranks.monitor.stall import note_said, stall

NO_RANK = "no rank differs from the others: look at storage and network, and at the stacks."
NOT_ASKED = "all ranks are asked now what they do: rank-holds-up names the one that differs, if any does."

ONE_RANK = "look at storage and network, and at its stack in stacks/."

CAUSE = Cause(__name__, restart=PASSES, asks_ranks=True)
EACH_TIME = True
"""A run that moved and then stalls again has another stall, which needs new evidence."""

AGAIN_WITH_EVIDENCE = True
"""The answers may come after the first report of a stall. If they show two nodes that do not reach each other, the
stall is reported again at once, with their names."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    found = stall(run, now)
    if found is None or is_named(run) or culprit(run, now) is not None:
        return  # rank-holds-up reports the stall and the rank that causes it
    known = _answers(run, now)
    if known is False:
        return  # until all ranks have answered, it is unknown whether one of them differs
    moved, allowed = found
    ranks = [rank for rank in run.ranks.values() if rank.alive and rank.moved_at is not None]
    where, reason, fix, evidence = _suspect(run, ranks, now, known)
    note_said(run, now)
    typical = step_seconds(run)
    pace = f"a step took {typical:.1f} s" if typical is not None else "no step was taken yet"
    yield Finding(
        id="no-progress",
        verdict=WARN,
        where=where,
        saw=f"nothing has moved for {now - moved:.0f} s; {pace}."
        + (f" Suspect: {reason}." if reason else ""),
        expected=f"a step, a phase or a progress bar that moves within {allowed:.0f} s",
        why="the ranks wait for each other; a time-out of 10 to 30 minutes would end it.",
        fix=fix,
        evidence=evidence,
    )


def _answers(run: RunState, now: float) -> Optional[bool]:
    """Whether all ranks have answered what they do in this stall; None if they were not asked recently."""
    asked, in_silence = start_patience.question(run)
    if asked is None or asked <= (run.moved_at or 0.0):
        return None
    if not answered(run, asked, now):
        return False
    return True if not in_silence or start_patience.is_fresh(run, now, HOLDS_SECONDS) else None


def _suspect(
    run: RunState, ranks: List[RankState], now: float, known: Optional[bool]
) -> Tuple[Where, str, str, Tuple[str, ...]]:
    """The suspect (a node or one rank that is frozen, behind, or in another phase), the reason, the fix, and of two
    nodes that do not reach each other the connection."""
    silent = [r for r in ranks if r.beat_at is not None and now - r.beat_at > allowed_gap(run, r)]
    nodes = {r.node for r in silent}
    if (
        len(silent) > 1
        and len(nodes) == 1
        and len(silent) == sum(r.node in nodes for r in ranks) < len(ranks)
    ):
        node = silent[0].node
        reason = f"none of the {len(silent)} ranks on {node} ({numbers(silent)}) sends heartbeats"
        return (
            Where(node=node),
            reason,
            f"on {node}: its storage, its memory, a frozen control group; dmesg -T.",
            (),
        )
    rank, reason = _suspect_rank(ranks, silent)
    pair = sockets.apart(run) if known else None
    if rank is None and pair is not None:
        one, other, connection = pair
        fix = (
            f"ping and iptables -S on {one} and {other}; the cables, the switch and the routes between them."
        )
        reason = f"{one} and {other} do not reach each other: {connection.text}"
        return Where(), reason, fix, (connection.text,)
    if rank is None:
        return Where(), "", NO_RANK if known else NOT_ASKED if len(ranks) > 1 else ONE_RANK, ()
    fix = f"look at the stack of rank {rank.rank}: stacks/rank-{rank.rank}.txt."
    return Where(node=rank.node, rank=rank.rank), f"rank {rank.rank} on {rank.node} {reason}", fix, ()


def _suspect_rank(ranks: List[RankState], silent: List[RankState]) -> Tuple[Optional[RankState], str]:
    if len(silent) == 1:
        return silent[0], "no longer sends heartbeats"
    ranks = [r for r in ranks if not r.unread]
    steps = [r.step for r in ranks if r.step is not None]
    least, most = min(steps, default=0), max(steps, default=0)
    behind = [r for r in ranks if r.step == least] if least < most else []
    if len(behind) == 1:
        return behind[0], f"is at step {least} of {most}"
    phases = [r.phase for r in ranks]
    common = max(set(phases), key=phases.count)
    others = [r for r in ranks if r.phase != common]
    if len(others) == 1 and len(ranks) > 2:
        return others[0], f"is {others[0].phase}, the others {common}"
    return None, ""
