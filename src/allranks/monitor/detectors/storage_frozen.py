"""A file system does not answer.

## How it is found
A node asked for the free space of a folder of the run (its output, its run directory), and got no answer for ten
seconds or more.

## Why it matters
A process that touches that folder waits in the kernel and cannot be ended, not even by SIGKILL. A rank that saves or
loads there holds up all others. NFS without its server, a full or failing disk, and fsfreeze look like this.

## What to do
Look at the server of that mount, and at dmesg ("not responding", "I/O error") on the node. The waiting processes
continue by themselves when the file system answers again.

Topic: storage
"""

from __future__ import annotations

from typing import Iterator, List

from allranks.core import WARN, Finding, Where
from allranks.core.node_events import Disk
from allranks.monitor import kernel_log
from allranks.monitor.run_state import NodeState, RunState

LEAST_SECONDS = 10.0
"""A busy NFS server answers statvfs within a second or two."""

OLD_SECONDS = 30.0
"""A sample comes every 5 s: an older one does not show the present state."""


def detect(run: RunState, now: float) -> Iterator[Finding]:
    if run.quiet:
        return
    for name, node in run.nodes.items():
        for disk in frozen(node, now):
            yield Finding(
                id="storage-frozen",
                verdict=WARN,
                where=Where(node=name, file=disk.path),
                saw=f"{disk.path} on {name} has not answered for {disk.frozen_seconds:.0f} s.",
                expected="an answer within a second",
                why="whoever reads or writes there waits in the kernel, and the other ranks wait for it.",
                fix=f"look at the server of that mount, and at dmesg on {name}.",
                evidence=tuple(kernel_log.words(node)),
            )


def frozen(node: NodeState, now: float) -> List[Disk]:
    """The disks of the node's last sample that do not answer."""
    if node.sample_at is None or now - node.sample_at > OLD_SECONDS:
        return []
    return [disk for disk in node.sample.disks if (disk.frozen_seconds or 0.0) >= LEAST_SECONDS]
