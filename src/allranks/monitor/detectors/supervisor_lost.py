"""A supervisor ended, but its node is alive.

## How it is found
The node's kernel closed the connection of its supervisor. It did not come back within three seconds (a warning), or
within the lease (allranks stops the run).

## Why it matters
Nothing watches that node's ranks now. They end by themselves when the supervisor's death reaches them, or train on
without reports.

## What to do
Read supervisor.log on that node and its kernel log: the supervisor was killed or crashed. `allranks clean RUN` ends
the run's leftover processes there.

Topic: ends
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, WARN, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.monitor.run_state import RunState

CAUSE = Cause(__name__, restart=PASSES)
REDIAL_SECONDS = 3.0
"""A living supervisor whose connection broke dials again within some tenths of a second."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    for name, node in run.nodes.items():
        if node.lost_at is None or not (run.matters(node) and run.machine_lives(node)):
            continue
        since = now - node.lost_at
        if since >= REDIAL_SECONDS:
            yield _finding(name, BLOCK if since >= run.lease_seconds else WARN, since)


def _finding(name: str, verdict: str, since: float) -> Finding:
    return Finding(
        id="supervisor-lost",
        verdict=verdict,
        where=Where(node=name),
        saw=f"its supervisor's connection was closed {since:.0f} s ago.",
        expected="a living supervisor on every node",
        why="nothing watches the ranks of this node now.",
        fix=f"read supervisor.log on {name}; allranks clean ends what is left there.",
    )
