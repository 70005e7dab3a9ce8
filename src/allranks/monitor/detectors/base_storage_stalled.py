"""The base model is no longer read.

## How it is found
Only with `environment: {loader: own}`. Ranks of a node have bytes left to read and send heartbeats, and no rank of that
node has read a piece (16 MiB) for 30 seconds. If another node reads on, the finding names the node that does not. If no
node reads, it names none: then it is the server, or the network to it.

## Why it matters
A read that the storage does not answer waits in the kernel, and cannot be ended, not even by SIGKILL. All ranks wait
for it.

## What to do
Look at the server of the model's folder and at `dmesg -T` on the node ("not responding", "I/O error"). Reads continue
by themselves when the storage answers again.

Topic: storage
"""

from __future__ import annotations

from typing import Iterator, Tuple

from allranks.core import WARN, Finding, Where
from allranks.core.quantities import in_bytes
from allranks.core.text import fold
from allranks.monitor import kernel_log
from allranks.monitor.node_reading import by_node
from allranks.monitor.run_state import RunState

STILL_SECONDS = 30.0
"""A piece has 16 MiB: whoever needs longer for one gets less than 0.6 MiB/s."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    nodes = [one for one in by_node(run, now) if one.reading]
    still = [one for one in nodes if now - one.moved_at >= STILL_SECONDS]
    if still and len(still) == len(nodes) > 1:
        names = fold(one.node for one in still)
        yield finding(
            "", f"no node ({names}) has", f"the server of the model's folder, and dmesg -T on {names}"
        )
        return
    for one in still:
        also = f"; {in_bytes(one.left)} are left" + ("" if len(nodes) == 1 else ", and other nodes read on")
        yield finding(
            one.node,
            f"no rank of {one.node} has",
            f"the storage of the model's folder on {one.node}, and dmesg -T there",
            also,
            tuple(kernel_log.words(run.node(one.node))),
        )


def finding(node: str, who: str, look: str, also: str = "", evidence: Tuple[str, ...] = ()) -> Finding:
    return Finding(
        id="base-storage-stalled",
        verdict=WARN,
        where=Where(node=node) if node else Where(),
        saw=f"{who} read any of the base model for more than {STILL_SECONDS:.0f} s{also}.",
        expected="16 MiB within seconds",
        why="a read that storage does not answer waits in the kernel, and all ranks wait for it.",
        fix=f"look at {look}.",
        evidence=evidence,
    )
