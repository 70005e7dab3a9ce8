"""The output of a command on many nodes. Equal answers are printed once, with the nodes that gave them."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence

from allranks.core.text import fold, plural
from allranks.output.console import Out
from allranks.transport.commands import CommandResult


def print_results(results: Sequence[CommandResult], out: Out | None = None) -> None:
    """Prints the groups of nodes, ordered by the first node of each. A group's output is indented below its names."""
    out = out or Out()
    for names, one in alike(results):
        count = f" ({plural(len(names), 'node')})" if len(names) > 1 else ""
        said = how(one)
        style = "bold" if not said else "bold red"
        out.line((fold(names) + count, style), (f"  {said}" if said else "", "red"))
        for line in one.output.splitlines():
            out.line("  ", line)
        if one.fix:
            out.line(("  fix  ", "dim"), one.fix)


def alike(results: Iterable[CommandResult]) -> list[tuple[list[str], CommandResult]]:
    """The names of the nodes that gave the same answer, and that answer."""
    groups: dict[tuple[object, ...], tuple[list[str], CommandResult]] = {}
    for one in results:
        key = (one.code, one.output, one.timed_out, one.error.replace(one.node, ""))
        groups.setdefault(key, ([], one))[0].append(one.node)
    return list(groups.values())


def how(one: CommandResult) -> str:
    """How the command ended; empty if it ended with 0."""
    if one.error:
        return one.error.removeprefix(f"{one.node}: ")
    if one.timed_out or one.code is None:
        return "did not end in time, and was ended"
    if one.code < 0:
        return f"ended by {signal_name(-one.code)}"
    return f"exit code {one.code}" if one.code else ""


def signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def summary(results: Sequence[CommandResult]) -> str:
    """`exit code 0 on node[1,3]; exit code 2 on node2`: one line, first the successes, last the unknown results."""
    ends: dict[str, list[str]] = {}
    for one in sorted(results, key=lambda one: (not one.is_known, abs(one.code or 0))):
        ends.setdefault("no answer" if one.error else how(one) or "exit code 0", []).append(one.node)
    return "; ".join(f"{end} on {fold(names)}" for end, names in ends.items())
