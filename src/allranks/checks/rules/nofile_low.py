"""The limit of open files is low.

## How it is found
The soft limit of open files (RLIMIT_NOFILE) of the run's user on every node.

## Why it matters
Each rank holds a connection to its peers, its libraries, its data files and its workers' queues. At 1,024 "Too many
open files" comes with many ranks per node, large sharded datasets, or data loaders that share tensors by file
descriptor.

## What to do
`* - nofile 65536` in /etc/security/limits.conf and a new login; for a container `--ulimit nofile=65536`.

## Source
getrlimit(2); PyTorch `multiprocessing` (file_descriptor sharing strategy).

Topic: nodes
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.core.untrusted import number

NEEDS = ("system.limits",)
UNKNOWN_BLOCKS = False

LEAST = 1024
PER_RANK = 512
"""A LLaMA-Factory rank with two workers holds about 250 descriptors; peers and shards come on top."""


def check(context: Context) -> Findings:
    for view in context.machines:
        pair = view.list("system.limits.nofile")
        soft = number(pair[0]) if pair else None
        # The limit is a process's, not the node's: world size and workers decide.
        least = max(LEAST, PER_RANK + context.run.cluster.world_size * 4)
        if soft is not None and soft < least:
            yield context.warn(
                view,
                saw=f"{view.name} allows {soft:,.0f} open files",
                expected=f"{least:,} or more for {context.run.cluster.world_size} ranks",
                why="ranks or data loaders end with 'Too many open files'.",
                fix="* - nofile 65536 in /etc/security/limits.conf, then log in again",  # language: allow
            )
