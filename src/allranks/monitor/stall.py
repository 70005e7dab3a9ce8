"""Whether the run stands still for longer than it may, and nothing else explains it. If so, `no-progress` reports it,
and `rank-holds-up` may name a rank although the answers alone prove little."""

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
    """Notes that `no-progress` has reported the stall."""
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
        return None  # node-lost reports it, and all others wait for that node
    if now - run.back_at < FRESH_SECONDS or not any(now - (n.seen_at or 0.0) <= FRESH_SECONDS for n in nodes):
        return None  # no node is heard, or not long enough to have reported its steps
    if leaver(run, now) is not None:
        return None  # rank-exited-early reports it
    silent, heard = unheard(run, now)
    if silent and not heard:
        return None  # they are seen stopped, and rank-silent reports it
    if now - moved <= START_SECONDS and work_alone(run):
        return None  # half of the ranks still work after the last step
    return Stall(moved, allowed)
