"""Storage returned errors while the base model was read.

## How it is found
Only with `environment: {loader: own}`. A read of a model's file failed with an error that may pass (`EIO`, `ESTALE`,
`ETIMEDOUT`), and the rank tried again. It tries three times, after 1, 2 and 4 seconds. If all fail, the run ends with
base-unreadable.

## Why it matters
The values are right, because the read was repeated and samples are compared with the file. But the disk, the link or
the server of that node may fail next time.

## What to do
Look at `dmesg -T` on the named node, at its disk (`smartctl -a`) and its link, and at the log of the server.

Topic: storage
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import WARN, Finding, Where
from allranks.core.text import plural
from allranks.monitor import kernel_log
from allranks.monitor.node_reading import by_node
from allranks.monitor.run_state import RunState


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    for one in by_node(run, now):
        if one.retries > 0:
            yield Finding(
                id="base-read-retried",
                verdict=WARN,
                where=Where(node=one.node),
                saw=f"{plural(one.retries, 'read')} of the base model failed on {one.node}: {one.error}.",
                expected="no error",
                why="the reads were repeated, but the disk, the link or the server there may fail next time.",
                fix=f"look at dmesg -T on {one.node}, and at the log of the server.",
                evidence=tuple(kernel_log.words(run.node(one.node))),
            )
