"""Tables: the runs of `ps`, and the checks that found nothing. Columns are aligned; a pipe gets them whole."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.cells import cell_len

from allranks.core.run_states import NOT_SEEN
from allranks.core.untrusted import integer, number
from allranks.output.console import Out
from allranks.output.report_findings import Folded, adapter_of, diagnosis_of, place
from allranks.output.report_text import MISSING, count, one_line, seconds

STATE_STYLES = {
    "succeeded": "green",
    "failed": "red",
    "running": "cyan",
    "starting": "cyan",
    "checking": "cyan",
    NOT_SEEN: "yellow",
    "lost": "yellow",
    "stopped": "yellow",
}
Row = Sequence[str]


def print_runs(runs: Sequence[Mapping[str, Any]], out: Out | None = None, now: float | None = None) -> None:
    """One line per run: id, name, state, step, nodes, age, cause of failure, adapter."""
    out = out or Out()
    if not runs:
        out.line("No runs are known here.")
        return
    now = time.time() if now is None else now
    heads = ("id", "name", "state", "step", "nodes", "age", "cause", "adapter")
    rows = [run_row(run, now) for run in runs]
    # A narrow terminal first loses the path, which is long, then the name, with which the id begins, then the cause.
    keep = [0, 2, 3, 4, 5, 6, 1, 7]
    if all(row[6] == "" for row in rows):
        keep.remove(6)
    while out.live and len(keep) > 5 and total_width([heads, *rows], keep) > out.width:
        keep.pop()
    columns(out, heads, rows, sorted(keep), {2: STATE_STYLES})


def run_row(run: Mapping[str, Any], now: float) -> Row:
    step, total = integer(run.get("step")), integer(run.get("total_steps"))
    nodes = run.get("nodes")
    started = number(run.get("started_at"))
    text = MISSING if step is None else count(step) + (f"/{count(total)}" if total else "")
    return [
        one_line(value, 200)
        for value in (
            run.get("id") or MISSING,
            run.get("name") or MISSING,
            run.get("state") or "unknown",
            text,
            len(nodes) if isinstance(nodes, list) else nodes or MISSING,
            MISSING if started is None else age(now - started),
            cause(run),
            adapter_of(run.get("adapter")).get("path") or MISSING,
        )
    ]


def age(passed: float) -> str:
    """Whole seconds, then minutes and seconds, and so on."""
    whole = max(round(passed), 0)
    return f"{whole} s" if whole < 60 else seconds(float(whole))


def cause(run: Mapping[str, Any]) -> str:
    """Why a run failed or is lost, and where: `cuda-oom, node-1 rank 3`; empty for other runs."""
    if run.get("state") not in ("failed", "lost"):
        return ""
    found = diagnosis_of(run.get("diagnosis"))
    if found is None or not found["cause"]:
        return one_line(run.get("why") or MISSING, 60)
    where = place([found["where"]])
    return found["cause"] + (f", {where}" if where else "")


def print_fine(groups: Sequence[Folded], out: Out | None = None) -> None:
    """The checks that passed: check, place, what was seen."""
    out = out or Out()
    rows = [[one_line(g.text("id")), g.place(), one_line(g.text("saw"))] for g in groups if g.verdict == "ok"]
    if rows:
        columns(out, ("fine", "where", "seen"), rows, [0, 1, 2], {})


def total_width(rows: Sequence[Row], keep: Sequence[int]) -> int:
    return sum(max(cell_len(row[i]) for row in rows) + 2 for i in keep) - 2


def columns(
    out: Out, heads: Row, rows: Sequence[Row], keep: Sequence[int], styles: Mapping[int, Mapping[str, str]]
) -> None:
    """Prints the kept columns. A terminal cuts a line that is too long; a pipe gets it whole."""
    widths = {i: max(cell_len(out.text(row[i]).plain) for row in [heads, *rows]) for i in keep}
    for number_of, row in enumerate([heads, *rows]):
        line = out.text()
        for i in keep:
            style = "dim" if number_of == 0 else styles.get(i, {}).get(row[i], "")
            cell = out.text((row[i], style))
            if i != keep[-1]:
                cell.pad_right(widths[i] - cell_len(cell.plain) + 2)
            line.append_text(cell)
        if out.live:
            line.truncate(out.width, overflow="crop" if out.ascii else "ellipsis")
        out.console.print(line, soft_wrap=True)
