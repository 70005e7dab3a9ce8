"""The lines of one run: its variables, its trainer's arguments, its DeepSpeed JSON."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from allranks.checks.context import Context
from allranks.checks.lint import arguments, deepspeed, variables
from allranks.checks.lint.line import Line
from allranks.core import Where
from allranks.plan.versions import parse


@functools.lru_cache(maxsize=4)
def library_names(context: Context) -> frozenset[str] | None:
    """The names in the libraries of any node; None if no node has sent any."""
    found: set[str] = set()
    for view in context.machines:
        for part in ("torch", "nccl"):
            found.update(str(name) for name in view.list(f"libraries.variables.{part}"))
    # A build without CUDA holds none of NCCL's names: it says nothing about them.
    return frozenset(found) if any(name.startswith("NCCL_DEBUG_SUBSYS") for name in found) else None


def version(context: Context, package: str) -> tuple[int, ...] | None:
    """The package's version on the first node that has it; with a container, what that pins, since the nodes' answers
    are about their own Python then."""
    container = context.run.container
    for requirement in container.pip if container else ():
        name, exact, number = requirement.partition("==")
        if exact and name.strip() == package:
            return parse(number)
    for view in context.machines if container is None else ():
        found = parse(view.text(f"software.versions.{package}"))
        if found:
            return found
    return None


def accepted(context: Context, what: str) -> frozenset[str] | None:
    """The `arguments` or `zero_keys` that the installed trainer or DeepSpeed accepts; None if nobody has read them."""
    for view in context.machines if context.run.container is None else ():
        names = view.list(f"imports.accepted.{what}")
        if names:
            return frozenset(str(name) for name in names)
    return None


def variable_lines(context: Context) -> Iterator[tuple[Line, Where]]:
    """Of what the user wrote in `env` and under nodes, not of what the plan adds."""
    names, transformers = library_names(context), version(context, "transformers")
    major = transformers[0] if transformers else None
    for name, value in context.run.env.items():
        yield variables.line(name, str(value), names, major), context.run.where(f"env.{name}")
    for number, node in enumerate(context.run.cluster.nodes):
        for name, value in node.env:
            where = context.run.where(f"nodes.{number}.env.{name}")
            yield (
                variables.line(name, value, names, major),
                Where(node.name, file=where.file, line=where.line),
            )


def argument_lines(context: Context) -> Iterator[tuple[Line, Where]]:
    known, transformers = accepted(context, "arguments"), version(context, "transformers")
    for name, value in context.arguments.items():
        where = context.run.where(f"train.llamafactory.{name}")
        yield arguments.line(name, value, known, transformers), where


def deepspeed_lines(context: Context) -> Iterator[tuple[Line, Where]]:
    """Of the user's own JSON; our profiles explain their keys in the plan."""
    if context.users_deepspeed:
        found = deepspeed.lines(
            context.deepspeed, transformers=context.llamafactory, zero_keys=accepted(context, "zero_keys")
        )
        for line in found:
            yield line, context.run.where("deepspeed")


def is_old_transformers(context: Context) -> bool:
    """Whether a version of transformers before 5 is known to be installed."""
    found = version(context, "transformers")
    return found is not None and found < (5,)


def lines(context: Context) -> list[tuple[Line, Where]]:
    """Every setting that the user wrote. Whether a dropped one was dropped is `spec`'s note."""
    return [*variable_lines(context), *argument_lines(context), *deepspeed_lines(context)]
