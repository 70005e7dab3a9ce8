"""A folder that the run writes to has disappeared.

## How it is found
The run's folder on a node, or its output folder, existed and no longer does.

## Why it matters
Somebody removed it, or its file system was unmounted. Journals, logs and checkpoints written there are lost. The
training continues: ranks that cannot write their lines send their heartbeats over a socket.

## What to do
Find out what removes files there (a clean-up job, a person), and whether the file system is still mounted. The lost
files do not come back in this run. If a save can still be written, run `allranks stop RUN --save`; then start again.

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
