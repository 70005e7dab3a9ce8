"""A folder that the run writes to is gone.

## How it is found
The run's folder on a node, or its output folder, was there and is not any more.

## Why it matters
Somebody removed it, or its file system was unmounted. Journals, logs and checkpoints that are written there are lost.
The training goes on: ranks that cannot write their lines beat over a socket.

## What to do
Look at who removes files there (a clean-up of old files, a person), and whether it is still mounted. What is lost does
not come back in this run; `allranks stop RUN --save` where a save can still be written, then start again.

Topic: storage
"""

from __future__ import annotations

from typing import Iterator

from allranks.core import WARN, Finding, Where
from allranks.monitor.run_state import RunState


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    for name, node in run.nodes.items():
        for disk in node.sample.disks:
            if disk.gone:
                yield Finding(
                    id="folder-gone",
                    verdict=WARN,
                    where=Where(node=name, file=disk.path),
                    saw="this folder was there and is gone.",
                    expected="the folders that the run writes to",
                    why="what is written there is lost: journals, logs or checkpoints. The training goes on.",
                    fix="see who removed it, or whether its file system is still mounted.",
                )
