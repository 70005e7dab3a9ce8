"""Nodes run different systems or kernels.

## How it is found
The distribution and release, the kernel's version (its first two numbers, and its flavour: generic, aws, el8uek) and
the processor's architecture of every machine.

## Why it matters
Another libc or kernel has other limits and drivers: a setting that works on one node may fail on the next. Another
architecture cannot run the same environment at all.

## What to do
Install the same system, or put the training environment into a container image.

## Source
os-release(5), uname(2).

Topic: nodes
"""

from __future__ import annotations

import re

from allranks.checks.context import Context, Findings, minority
from allranks.core.text import printable

NEEDS = ("system.os_release", "system.kernel", "system.architecture")
UNKNOWN_BLOCKS = False
ARCHITECTURES = ("x86_64", "aarch64", "ppc64le", "s390x", "riscv64", "amd64", "arm64")
"""Some distributions end a kernel's name with it."""


def check(context: Context) -> Findings:
    for view, has, usual in context.odd_ones("system.architecture"):
        yield context.block(
            view,
            saw=f"{view.name} is {has}",
            expected=f"{usual}, as on other nodes",
            why="one training environment cannot serve both.",
            fix=f"take {view.name} out of nodes",
        )
    for view, has, usual in context.odd_ones("system.os_release.name"):
        yield context.note(
            view,
            saw=f"{view.name} runs {has}",
            expected=f"{usual}, as on other nodes",
            why="libraries, limits and drivers may differ with it.",
            fix="the same system on all nodes, or one container image",
        )
    yield from of_kernels(context)


def of_kernels(context: Context) -> Findings:
    """A container brings no kernel of its own, so that an image does not help here."""
    kernels = {view: kind(text) for view in context.machines if (text := view.text("system.kernel"))}
    for view, _, usual in minority(kernels):
        yield context.note(
            view,
            saw=f"{view.name} runs the kernel {printable(view.text('system.kernel'), 80)}",
            expected=f"{printable(' '.join(usual), 80)}, as on other nodes",
            why="drivers are built for each kernel, and another one has other limits.",
            fix="the same kernel on all nodes",
        )


def kind(kernel: str) -> tuple[str, str]:
    """`6.8` and `generic` of `6.8.0-45-generic`: updates of one kernel are the same kind."""
    numbers = re.match(r"\d+\.\d+", kernel)
    words = [word for word in re.findall(r"[A-Za-z]\w*", kernel) if word not in ARCHITECTURES]
    return numbers.group() if numbers else kernel, "-".join(words)
