"""One rank, or all ranks of a node, stopped sending heartbeats, or its process was stopped.

## How it is found
A rank sent no heartbeat for 11 s of training, or for four times its latest recent one, and the other ranks still send
theirs. Before the first step the limit is a minute, unless the process is seen stopped. More than three ranks at once
share one finding, and so do all ranks of a node whose supervisor still reports.

Samples of the node show whether a silent rank still runs: its CPU time rises by a tenth of a core or more, or its
process is ready to run (state R).

If no other rank sends heartbeats (the run has one rank, or all froze at once), a rank is named only if later samples
show its process stopped (state T, or t by a debugger).

## Why it matters
A thread of the rank sends the heartbeat. It stops if the whole process is frozen (SIGSTOP, swapping, a dead mount, a
debugger) or its node is. All other ranks will wait for it in the next collective.

A heartbeat also stops while one call keeps Python's lock: a metric, json or pickle of something large, a regular
expression. Then the process uses the CPU, and allranks does not stop the run. Nor does it stop the run while the other
ranks take newer steps: they could not without this rank, so only its heartbeats are lost.

If no other rank sends heartbeats, allranks stops the run after samples have shown the process stopped by a signal for
a minute. A process that a debugger holds is only reported.

## What to do
Look at the process on that node: its state (`ps -o pid,stat,wchan`), its stack, the kernel log. T is stopped (continue
it with kill -CONT), D waits for storage. If it runs, `py-spy dump --native` names the call. If the others continue,
run `df` and `ls` on the run's folder there: a full disk or a removed folder stores no heartbeats.

Topic: training
"""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Sequence

from allranks.core import BLOCK, WARN, Finding
from allranks.core.causes import PASSES, Cause
from allranks.monitor.aggregation import grouped, numbers, where_of
from allranks.monitor.hang_thresholds import (
    FRESH_SECONDS,
    SAMPLE_SECONDS,
    allowed_gap,
    allowed_silence,
    sampled_state,
    seen_stopped,
    silent_nodes,
    unheard,
)
from allranks.monitor.node_load import unwritable
from allranks.monitor.run_state import RankState, RunState

TOGETHER_SECONDS = 2.5
"""If ranks froze together, their last heartbeats are up to 1 s apart, and the keeper hears them in two turns."""

BLOCK_FACTOR = 5.0
BLOCK_LEAST_SECONDS = 60.0
"""Twice the default lease: a rank that is only late is not silent for so long while others send heartbeats."""

CAUSE = Cause(
    __name__,
    restart=PASSES,
    asks_ranks=True,
    is_outage=True,
    cannot_be_work=True,
    fix_of_rank="see who stopped it (a debugger, kill -STOP, a scheduler); kill -CONT {pid} continues it.",
)
EACH_TIME = True
GOES_ON = re.compile(r"; kill -CONT (?:PID|\d{1,9}(?: \d{1,9}){0,40})(?: continues it)?")
"""The part of a fix that helps a stopped process, but not one that has ended."""

STATES = {
    "D": "waiting for storage",
    "R": "running",
    "S": "asleep",
    "T": "stopped by a signal",
    "Z": "dead",
    "t": "stopped by a debugger",
}

WHY_FROZEN = "the process or its node is frozen: every other rank waits for it in the next collective."
WHY_BUSY = (
    "one call keeps Python's lock (a metric, json, pickle, a regular expression), or no heartbeat can be written"
    " (a full disk): the others may wait for it in the next collective."
)
WHY_STOPPED = "a stopped process does nothing until it is continued, and nothing else of the run is heard."
WHY_LOST = "its process works, and only its heartbeats are lost; the run continues."

LISTED = 8
"""At most so many pids are shown."""

STEPS_AHEAD = 2
"""The others may end so many steps without a rank: the step of its last heartbeat, and one whose collectives had
begun. Further steps need the rank."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet or now < run.paused_until:
        return
    silent, heard = unheard(run, now)
    gone = silent_nodes(run, now)
    silent = [
        r for r in silent if r.node not in gone and (r.node is None or run.node(r.node).lost_at is None)
    ]
    whole = list(_whole_nodes(run, silent, now))
    if len(whole) > max(1, len({r.node for r in heard}) // 3):
        # All of them may do the same slow thing, some a little faster.
        whole = [ranks for ranks in whole if all(seen_stopped(run, rank, now) for rank in ranks)]
    for ranks in whole:
        if heard or all(seen_stopped(run, rank, now) for rank in ranks):
            yield _finding(run, ranks, now, bool(heard), whole=True)
            told = {rank.rank for rank in ranks}
            silent = [r for r in silent if r.node != ranks[0].node or r.rank not in told]
    if len(silent) > max(1, len(heard) // 3):
        # If so many are silent at once, the network or the keeper is the reason, unless they are seen stopped.
        silent = [r for r in silent if seen_stopped(run, r, now)]
    for ranks in grouped(silent):
        yield _finding(run, ranks, now, bool(heard))


def _whole_nodes(run: RunState, silent: Sequence[RankState], now: float) -> Iterator[List[RankState]]:
    """The ranks of each node that fell silent together. Heartbeats come over the supervisor's connection, so the
    supervisor must be heard: otherwise the link may only be late."""
    on: Dict[str, List[RankState]] = {rank.node: [] for rank in silent if rank.node is not None}
    for rank in run.ranks.values() if on else ():
        if rank.node in on and rank.alive and rank.beat_at is not None and rank.phase != "done":
            on[rank.node].append(rank)
    for name, ranks in sorted(on.items()):
        heard = now - (run.node(name).seen_at or 0.0) <= FRESH_SECONDS
        together = all(now - (r.beat_at or 0.0) > allowed_gap(run, r) - TOGETHER_SECONDS for r in ranks)
        if len(ranks) > 1 and heard and together:
            yield ranks


def _finding(
    run: RunState, ranks: Sequence[RankState], now: float, heard: bool, whole: bool = False
) -> Finding:
    since = min(now - (rank.beat_at or now) for rank in ranks)
    first, allowed = ranks[0], max(allowed_gap(run, rank) for rank in ranks)
    lives = _lived(run, ranks, now, heard)
    ahead = _others_ahead(run, ranks, now)
    block = not ahead and now - lives > max(BLOCK_LEAST_SECONDS, BLOCK_FACTOR * allowed)
    one, busy = len(ranks) == 1, _busy(ranks, now)
    who = f"rank {first.rank} has sent" if one else f"{len(ranks)} ranks ({numbers(ranks)}) have sent"
    who = f"all {len(ranks)} ranks on {first.node} ({numbers(ranks)}) have sent" if whole else who
    each = f"rank {first.rank}'s process" if one else "their processes"
    tools = f"ps -o pid,stat,wchan of {each}, its stack, dmesg -T"
    tools = f"py-spy dump --native of {each}, df" if busy else tools
    stopped = all(sampled_state(run, rank) == "T" for rank in ranks)
    if stopped:
        tools = f"find who stopped {each} (kill -STOP, a scheduler); kill -CONT {_pids(ranks)}"
    return Finding(
        id="rank-silent",
        verdict=BLOCK if block else WARN,
        where=where_of(ranks),
        saw=f"{who} no heartbeat for {since:.0f} s (phase {first.phase}, step {first.step})."
        f"{_states(run, ranks)}{busy}{ahead}{_lines_refused(run, ranks)}",
        expected=f"a heartbeat at least every {allowed:.0f} s",
        why=WHY_LOST if ahead else WHY_BUSY if busy else WHY_FROZEN if heard else WHY_STOPPED,
        fix=f"on {first.node if one or whole else 'their nodes'}: {tools}.",
    )


def _lived(run: RunState, ranks: Sequence[RankState], now: float, heard: bool) -> float:
    """When the last of these ranks was known to work. If no other rank is heard, they count as working until all
    samples show each of them stopped by a signal: allranks does not end a process that a debugger holds."""
    if heard:
        return max(at for rank in ranks for at in (rank.beat_at, rank.busy_at) if at is not None)
    held = [rank.stopped_at if sampled_state(run, rank) == "T" else None for rank in ranks]
    return max(now if at is None else at for at in held)


def _pids(ranks: Sequence[RankState]) -> str:
    pids = [str(rank.identity[2]) for rank in ranks if rank.identity is not None]
    return " ".join(pids) if len(pids) == len(ranks) <= LISTED else "PID"


def _others_ahead(run: RunState, ranks: Sequence[RankState], now: float) -> str:
    """A note if the others take steps that need these ranks: they could not if the processes were frozen."""
    step = max((r.step for r in ranks if r.step is not None), default=None)
    allowed = allowed_silence(run)
    if step is None or allowed is None:
        return ""
    silent = {r.rank for r in ranks}
    # A rank may have frozen only when its next heartbeat was due, and have taken steps until then.
    frozen = max(r.beat_at or 0.0 for r in ranks) + max(FRESH_SECONDS, run.beat_gap)
    since = max(frozen, now - allowed)
    others = [r for r in run.ranks.values() if r.rank not in silent and r.alive and r.step is not None]
    moving = [r for r in others if (r.moved_at or 0.0) > since and (r.step or 0) > step + STEPS_AHEAD]
    best = max(moving, key=lambda r: r.step or 0, default=None)
    if best is None:
        return ""
    whom = "it" if len(ranks) == 1 else "them"
    return f" Rank {best.rank} is at step {best.step}, which it cannot take without {whom}."


def _lines_refused(run: RunState, ranks: Sequence[RankState]) -> str:
    """A note about their nodes' full disks and missing folders, on which no heartbeat can be written."""
    said = []
    for name in sorted({rank.node for rank in ranks if rank.node is not None}):
        said += [f" {what} on {name}." for what in unwritable(run.node(name))]
    return "".join(said)


def _busy(ranks: Sequence[RankState], now: float) -> str:
    """A note if samples show that processes work although their heartbeats stopped."""
    busy = [r for r in ranks if r.busy_at is not None and r.busy_at > (r.beat_at or 0.0)]
    busy = [r for r in busy if now - (r.busy_at or 0.0) <= SAMPLE_SECONDS]
    if not busy:
        return ""
    many = f"Rank {numbers(busy)} uses" if len(busy) == 1 else f"Ranks {numbers(busy)} use"
    return f" {'It uses' if len(ranks) == 1 else many} the CPU."


def _states(run: RunState, ranks: Sequence[RankState]) -> str:
    """Their processes' state by the node's last sample, if it is the same for all."""
    states = {sampled_state(run, rank) for rank in ranks}
    state = states.pop() if len(states) == 1 else None
    if not state:
        return ""
    whose = "Its process is" if len(ranks) == 1 else "Their processes are"
    return f" {whose} {STATES.get(state, 'in state ' + state)} ({state})."
