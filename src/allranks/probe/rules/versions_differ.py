"""The ranks of a probe run different versions of torch, NCCL or Python.

## How it is found
Each rank of the collective reports its Python (3.x), torch and NCCL.

## Why it matters
NCCL refuses peers of another version. A rank with another torch may hang in the first collective, or send pickles that
the others cannot read.

## What to do
One environment for all nodes: a container image by its digest, a folder on shared storage, or the same lock file.

## Source
NCCL 2.30, `bootstrap.cc`; what the ranks themselves report, which is what really runs.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.context import minority
from allranks.core import Finding
from allranks.probe.judge import Context
from allranks.probe.results import RankSaid


def check(context: Context) -> Iterator[Finding]:
    said: dict[str, RankSaid] = {}
    for one in context.results.collectives:
        for rank in one.ranks:
            said.setdefault(rank.node, rank)
    for what in ("torch", "nccl", "python"):
        versions = {node: version(rank, what) for node, rank in said.items() if version(rank, what)}
        for node, found, usual in minority(versions):
            yield context.block(
                node,
                saw=f"its ranks run {what} {found}, most nodes' {usual}",
                expected=f"{what} {usual} on every node",
                why="ranks of different versions refuse each other or hang in the first collective.",
                fix=f"the environment of {node}: {what} {usual}",
            )


def version(rank: RankSaid, what: str) -> str:
    """For Python only the major and minor number, on which pickles and wheels depend."""
    found = str(getattr(rank, what) or "")
    return ".".join(found.split(".")[:2]) if what == "python" else found
