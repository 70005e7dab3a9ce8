"""One rank fell silent while the others beat

## What is seen
A rank's heartbeat has stopped (for 11 s in training, or four times the latest beat of late; for a minute
until its first step is taken, unless its process is seen stopped), and other ranks' beats go on.

## Why it matters
The beat comes from a thread of its own: it stops only where the whole process is frozen (SIGSTOP, swapping, a
dead mount, a debugger) or its node is. All others will wait for it in the next collective.

## What to do
Look at the process on that node: its state (`ps -o pid,stat,wchan`), its stack, the kernel log. T is stopped (kill
-CONT), D waits for storage.
"""

from __future__ import annotations

from typing import Iterator, Optional

from allranks.watch.pace import allowed_gap, silent_nodes, unheard
from allranks.watch.state import RankState, RunState
from allranks.words import BLOCK, WARN, Finding, Where

BLOCK_FACTOR = 5.0
BLOCK_LEAST_SECONDS = 60.0
"""Twice the default lease: nothing that is only late stays silent for so long while others beat."""

EACH_TIME = True
STATES = {"T": "stopped by a signal", "t": "stopped by a debugger", "D": "waiting for storage", "Z": "dead"}


def look(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet or now < run.paused_until:
        return
    silent, heard = unheard(run, now)
    gone = silent_nodes(run, now)
    silent = [r for r in silent if r.node not in gone]
    if len(silent) > max(1, len(heard) // 3):
        return  # so many at once are no fault of one rank: the network's, or the keeper's own
    for rank in silent:
        if rank.node is None or run.node(rank.node).lost_at is None:
            yield _finding(run, rank, now)


def _finding(run: RunState, rank: RankState, now: float) -> Finding:
    since = now - (rank.beat_at or now)
    state = _state(run, rank)
    block = since > max(BLOCK_LEAST_SECONDS, BLOCK_FACTOR * allowed_gap(run, rank))
    known = f" Its process is {STATES.get(state, 'in state ' + state)} ({state})." if state else ""
    return Finding(
        id="rank-silent",
        verdict=BLOCK if block else WARN,
        where=Where(node=rank.node, rank=rank.rank),
        saw=f"rank {rank.rank} has not beaten for {since:.0f} s (phase {rank.phase}, step {rank.step}).{known}",
        expected=f"a beat at least every {allowed_gap(run, rank):.0f} s",
        why="the process is frozen or its node is: every other rank waits for it in the next collective.",
        fix=f"on {rank.node}: ps -o pid,stat,wchan of rank {rank.rank}'s process, its stack, dmesg -T.",
    )


def _state(run: RunState, rank: RankState) -> Optional[str]:
    """The process state of the node's last sample, newer than the last beat."""
    node = run.nodes.get(rank.node or "")
    if node is None or node.sample_at is None or node.sample_at < (rank.beat_at or 0.0):
        return None
    ranks = node.sample.get("ranks")
    entry = ranks.get(str(rank.rank)) if isinstance(ranks, dict) else None
    state = entry.get("state") if isinstance(entry, dict) else None
    return str(state) if state else None


def _beats(rank: int, until: int) -> list:
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "ab"[rank % 2],
            "rank": rank,
            "data": {"phase": "training", "step": 1},
        }
        for second in range(1, until)
    ]


def _run(*until: int) -> list:
    events = [event for rank, end in enumerate(until) for event in _beats(rank, end)]
    events += [
        {"at": 5.0 * n, "kind": "sample", "node": name, "data": {}}
        for n in range(1, max(until) // 5 + 1)
        for name in "ab"
    ]
    return sorted(events, key=lambda event: event["at"])


FIRES = [{"events": _run(20, 35), "now": 34.0}, {"events": _run(20, 100, 100), "now": 99.0}]
SILENT = [
    {"events": _run(30, 35), "now": 35.0},
    {"events": _run(20, 20), "now": 40.0},
    {"events": [*_run(20, 30), {"at": 21.0, "kind": "exception", "rank": 0, "data": {}}], "now": 40.0},
]
