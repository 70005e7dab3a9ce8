"""A node is lost.

## How it is found
For ten seconds neither the node's supervisor nor any of its ranks sent anything, while other nodes did: that is a
warning. Or the keeper lost the connection to the node's supervisor, and it did not come back within the lease of 30 s:
then allranks stops the run.

## Why it matters
The power, kernel, network or supervisor of that node failed. Its ranks cannot report, and stop themselves when the
lease ends. Every other rank waits for them.

## What to do
Look at the node from the head: does it answer to SSH? What do its kernel log and its BMC report? If the connection was
closed, and did not just fall silent, the machine is alive, and the finding is supervisor-lost. If all other nodes fall
silent at once, it is head-cut-off.

Topic: ends
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import BLOCK, WARN, Event, Finding, Where
from allranks.core.causes import PASSES, Cause
from allranks.monitor.hang_thresholds import silent_nodes
from allranks.monitor.head_isolation import cut_off
from allranks.monitor.run_state import RunState

CAUSE = Cause(__name__, restart=PASSES)
AFTER = ("lost",)
EACH_TIME = True


def after(run: RunState, event: Event) -> Iterator[Finding]:
    """A warning as soon as the connection is lost. The node itself may be well."""
    if event.node is not None and _matters(run, event.node) and cut_off(run, run.arrived) is None:
        yield _finding(run, event.node, WARN, 0.0)


def detect(run: RunState, now: float) -> Iterator[Finding]:
    """A warning after ten seconds of silence: TCP needs half a minute to notice a machine without power."""
    if cut_off(run, now) is not None:
        return  # head-cut-off reports it, so no node is blamed by chance of order
    if not run.quiet and now >= run.paused_until:
        for name in silent_nodes(run, now):
            if run.nodes[name].lost_at is None:  # also if its machine lives: a container may be paused
                yield _finding(run, name, WARN, now - (run.nodes[name].seen_at or now))
    for name, node in run.nodes.items():
        if node.lost_at is None or not _matters(run, name):
            continue
        since = now - node.lost_at
        if since >= run.lease_seconds:
            yield _finding(run, name, BLOCK, since)


def _matters(run: RunState, name: str) -> bool:
    """Whether to report the node here. If its machine lives, `supervisor-lost` reports it."""
    node = run.nodes[name]
    return run.matters(node) and not run.machine_lives(node)


def _finding(run: RunState, name: str, verdict: str, since: float) -> Finding:
    ranks = sorted(r.rank for r in run.ranks.values() if r.node == name)
    return Finding(
        id="node-lost",
        verdict=verdict,
        where=Where(node=name),
        saw="nothing is heard from its supervisor" + (f" for {since:.0f} s." if since else "."),
        expected="a living supervisor on every node",
        why=f"its {len(ranks)} ranks are unheard, and every other rank waits for them." if ranks else "",
        fix=f"is {name} up? ping, ssh, its BMC, its kernel log.",
        evidence=(f"last heard at {run.nodes[name].seen_at}",),
    )
