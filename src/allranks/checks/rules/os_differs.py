"""Nodes run different systems or kernels.

## What it looks at
The distribution and release, the kernel's version (its first two numbers) and the processor's architecture of
every machine.

## Why it matters
Another libc or kernel has other limits and drivers: what holds on one node need not hold on the next. Another
architecture cannot run the same environment at all.

## What to do
Install the same system, or put the training environment into a container image.

## Source
os-release(5), uname(2).
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks.case import fires, silent
from allranks.checks.context import Context
from allranks.words import Finding

NEEDS = ("system.os_release", "system.kernel", "system.architecture")
UNKNOWN_BLOCKS = False


def check(context: Context) -> Iterator[Finding]:
    for view, has, usual in context.odd_ones("system.architecture"):
        yield context.block(
            view,
            saw=f"{view.name} is {has}",
            expected=f"{usual}, as most nodes",
            why="one training environment cannot serve both.",
            fix=f"take {view.name} out of nodes",
        )
    for view, has, usual in context.odd_ones("system.os_release.name"):
        yield context.note(
            view,
            saw=f"{view.name} runs {has}",
            expected=f"{usual}, as most nodes",
            why="libraries, limits and drivers may differ with it.",
            fix="the same system on all nodes, or one container image",
        )


CASES = (
    fires("cpu", {"node-1/system/os_release/name": "Debian GNU/Linux 12"}, node="node-1", verdict="note"),
    fires("cpu", {"node-1/system/architecture": "aarch64"}, node="node-1", verdict="block"),
    silent("cpu"),
)
