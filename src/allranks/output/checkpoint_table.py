"""Prints the checkpoints of a run or folder as a table, and the progress of a copy."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from allranks.core.untrusted import mappings, number
from allranks.output.console import Out
from allranks.output.report_text import MISSING, count, one_line, seconds, size
from allranks.output.table import columns

STATES = {"whole": "green", "damaged": "red", "unknown": "yellow", "not read": ""}
HEADS = ("name", "step", "state", "size", "age", "resumable", "why")


def print_checkpoints(told: Mapping[str, Any], node: str | None, out: Out | None = None) -> None:
    """The folder, then one line per checkpoint, newest first, with its faults at the end."""
    out = out or Out()
    folder = one_line(told.get("folder"))
    found = mappings(told.get("checkpoints"))
    if not found:
        out.line("no checkpoint is in ", f"{node}:{folder}" if node else folder)
        return
    out.line((f"{node}:{folder}" if node else folder, "bold"))
    rows = [row(one, time.time()) for one in found]
    keep = [n for n in range(len(HEADS)) if n < len(HEADS) - 1 or any(one[n] for one in rows)]
    columns(out, HEADS, rows, keep, {2: STATES})


def row(one: Mapping[str, Any], now: float) -> list[str]:
    written = number(one.get("written_at"))
    against = [f for f in mappings(one.get("findings")) if f.get("verdict") in ("block", "unknown")]
    age = MISSING if written is None else seconds(max(now - written, 0.0))
    return [
        one_line(one.get("name") or MISSING, 200),
        count(one.get("step")),
        state_of(one),
        size(one.get("bytes")),
        age,
        "yes" if one.get("resumable") is True else "no",
        one_line(f"{against[0].get('id')}: {against[0].get('saw')}", 300) if against else "",
    ]


def state_of(one: Mapping[str, Any]) -> str:
    if one.get("whole") is True:
        return "whole"
    if one.get("whole") is None:
        return "not read"
    damaged = any(f.get("verdict") == "block" for f in mappings(one.get("findings")))
    return "damaged" if damaged else "unknown"


@contextlib.contextmanager
def progress(quiet: bool = False, out: Out | None = None) -> Iterator[Callable[[int, int], None]]:
    """Shows the progress on a terminal, and nothing in a pipe. It yields the function to call with (bytes done, all
    bytes)."""
    import sys

    out = out or Out(sys.stderr)
    if quiet or not out.live:
        yield lambda done, total: None
        return
    with out.console.status(out.text("the node reads the files")) as status:
        yield lambda done, total: status.update(out.text(f"{size(done)} of {size(total)}"))
