"""Whether the run stands still for longer than it may, with nothing else to explain it: what `no-progress` tells, and
from when on `rank-holds-up` may name a rank of which the answers alone prove little."""

from __future__ import annotations

from typing import NamedTuple, Optional

from allranks.monitor.detectors.rank_exited_early import leaver, work_alone
from allranks.monitor.hang_thresholds import (
    FRESH_SECONDS,
    START_SECONDS,
    alive,
    allowed_silence,
    gone_nodes,
    unheard,
)
from allranks.monitor.run_state import RunState


class Stall(NamedTuple):
    """`moved`: when the last rank moved; `allowed`: how many seconds that may be ago."""

    moved: float
    allowed: float


def note_said(run: RunState, now: float) -> None:
    """`no-progress` has told of it."""
    run.memory_of("stall")["said"] = now


def said_at(run: RunState) -> Optional[float]:
    said: Optional[float] = run.memory_of("stall").get("said")
    return said


def stall(run: RunState, now: float) -> Optional[Stall]:
    if run.quiet or now < run.paused_until:
        return None
    moved, nodes = run.moved_at, run.open_nodes
    allowed = allowed_silence(run) if moved is not None and alive(run) else None
    if moved is None or allowed is None or now - moved <= allowed:
        return None
    if gone_nodes(run, now):
        return None  # node-lost says it, and all others wait for that node
    if now - run.back_at < FRESH_SECONDS or not any(now - (n.seen_at or 0.0) <= FRESH_SECONDS for n in nodes):
        return None  # nobody is heard, or not for long enough to have told of the steps of that time
    if leaver(run, now) is not None:
        return None  # rank-exited-early says it
    silent, heard = unheard(run, now)
    if silent and not heard:
        return None  # they are seen stopped: rank-silent says it
    if now - moved <= START_SECONDS and work_alone(run):
        return None  # what a script does after its steps, on half of its ranks
    return Stall(moved, allowed)
