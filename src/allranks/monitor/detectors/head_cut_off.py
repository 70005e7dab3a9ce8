"""The head was cut off from all other nodes.

## How it is found
All other nodes, two or more, fell silent within three seconds of each other, while the head's own supervisor still
reports. No spare is heard either. After ten seconds that is a warning. If the connections broke and did not come back
within the lease of 30 s, allranks stops the run.

## Why it matters
Nodes fail one by one. If all of them fall silent at one moment, the head's own link is the most likely reason: its
cable, its switch port, its interface. The other nodes are probably well. Their ranks stop when their lease ends,
because they hear nothing from the keeper on the head.

## What to do
Look at the head first: `ip -s link`, `dmesg -T`, its cable and its switch port. If it is well, look at what the other
nodes share: their switch, their power. In a run of two nodes it is not possible to say which end failed: the finding
is then node-lost.

Topic: network
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, WARN, Event, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.monitor.head_isolation import CutOff, cut_off
from allranks.monitor.run_state import RunState

CAUSE = Cause(__name__, restart=PASSES)
AFTER = ("lost", "lease-lost")
EACH_TIME = True
NAMED = 4


def after(run: RunState, event: Event) -> Iterator[Finding]:
    """If another node's lease ended, reports that the head was cut off: the link was down for as long as the lease,
    and the ranks are stopped."""
    found = cut_off(run, run.arrived)
    if found is not None and run.stopping_at is None:
        yield _finding(run, found, run.arrived, event.kind == "lease-lost")


def detect(run: RunState, now: float) -> Iterator[Finding]:
    found = cut_off(run, now)
    if found is None or run.stopping_at is not None or now < run.paused_until:
        return
    times = (run.nodes[name].lost_at for name in found.nodes if name in run.nodes)
    over = now - min((at for at in times if at is not None), default=now) >= run.lease_seconds
    if over or not run.quiet:
        yield _finding(run, found, now, over)


def _finding(run: RunState, found: CutOff, now: float, over: bool) -> Finding:
    names = ", ".join(found.nodes[:NAMED]) + (", …" if len(found.nodes) > NAMED else "")
    return Finding(
        id="head-cut-off",
        verdict=BLOCK if over else WARN,
        where=Where(node=found.head),
        saw=f"all {len(found.nodes)} other nodes ({names}) fell silent together, {now - found.at:.0f} s ago.",
        expected="a living supervisor on every node",
        why="nodes fail one by one: most likely it is the head's own link that is gone, and the other nodes are well.",
        fix=f"look at {found.head}: its cable, its switch port, ip -s link, dmesg -T; then at the switch or the power"
        " that the others share.",
        evidence=tuple(f"{name}: last heard at {_seen(run, name)}" for name in found.nodes[:8]),
    )


def _seen(run: RunState, name: str) -> object:
    return run.nodes[name].seen_at if name in run.nodes else "an unknown time"
