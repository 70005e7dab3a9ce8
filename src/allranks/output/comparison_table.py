"""The output of `runs compare`: two columns, with the verdict at the end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from allranks.output.console import Out
from allranks.output.report_text import MISSING, one_line, share, short, size
from allranks.output.run_comparison import Comparison, Row
from allranks.output.table import columns


def print_comparison(found: Comparison, out: Out | None = None) -> None:
    out = out or Out()
    names = ("", found.a, found.b)
    section(out, "settings that differ", names, found.settings) if found.settings else out.line(
        "no known setting differs."
    )
    section(out, "loss", names, found.loss)
    section(out, "speed and memory", names, [row for row in found.speed if (row.a, row.b) != (None, None)])
    for sentence in found.verdict:
        out.line(sentence)


def section(out: Out, title: str, names: Sequence[str], rows: Sequence[Row]) -> None:
    if not rows:
        return
    table = [[one_line(row.name), shown(row.name, row.a), shown(row.name, row.b)] for row in rows]
    columns(out, (title, *names[1:]), table, [0, 1, 2], {})
    out.line("")


def shown(name: str, value: Any) -> str:
    if value is None:
        return MISSING
    if name.endswith(("memory of a rank", "memory of a node")):
        return size(value)
    if name.startswith("share"):
        return share(value)
    if isinstance(value, float):
        return short(value)
    return one_line(value, 60)
