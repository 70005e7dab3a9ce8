"""Ranks × steps as a map of colours. It shows which rank is slow, and when all ranks are. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core.text import plural
from allranks.output.report_series import Series, median, typical
from allranks.output.report_text import count, escape, seconds

COLUMNS, ROWS = 96, 64
ROW_HEIGHT, LEAST_HEIGHT, MOST_HEIGHT = 14, 42, 320
"""Pixels."""

LIMITS = (-0.2, 0.1, 0.25, 0.5, 1.0)
"""The edges between the tones, as the difference from the median of all in units of the step time. A time that is
long compared with the others', but short compared with a step, does not delay any rank."""

NAMES = ("20 % of a step below", "about the median", "10 % of a step above", "25 %", "50 %", "100 % and more")
SLOWEST = 12
NAME = "heat"


def heat_of(series: Series) -> Dict[str, Any]:
    """The map's values. Steps that share a cell are averaged; of ranks that share a row, the slowest counts.

    It uses the rank's own work (`own_seconds`) if ranks reported it, since collectives make their steps equally long.
    """
    own = series.reporting("own_seconds")
    name = "own_seconds" if len(own) > 1 else "seconds"
    ranks = own if len(own) > 1 else series.reporting("seconds")
    if len(ranks) < 2 or series.used < 2:
        return {}
    wide, high = -(-series.used // COLUMNS), -(-len(ranks) // ROWS)
    groups = [ranks[i : i + high] for i in range(0, len(ranks), high)]
    first = int(series.lowest) // series.width
    places = list(range(first, series.used, wide))
    columns = [(series.edges(p)[0], series.edges(min(p + wide, series.used) - 1)[1]) for p in places]
    values: List[List[Optional[float]]] = [[None] * len(places) for _ in groups]
    every: List[float] = []
    for row, group in enumerate(groups):
        for rank in group:
            column = series.column(rank, name)
            if column is None:
                continue
            means = [column.mean(p) for p in range(first, series.used)]
            every += [value for value in means if value is not None]
            for at in range(len(places)):
                part = [v for v in means[at * wide : (at + 1) * wide] if v is not None]
                before = values[row][at]
                if part:
                    mean = sum(part) / len(part)
                    values[row][at] = mean if before is None else max(before, mean)
    return {
        "of": name,
        "rows": [(group[0], group[-1]) for group in groups],
        "columns": columns,
        "values": values,
        "median": median(every),
        "step": median(v for v in (typical(series, rank, "seconds") for rank in ranks) if v is not None),
    }


def heat(data: Mapping[str, Any]) -> str:
    """The figure; empty for a single rank, or if no step was timed."""
    found = data["charts"]["heat"]
    usual, step = (found.get("median"), found.get("step")) if found else (None, None)
    if usual is None or not step:
        return ""
    rows, columns, values = found["rows"], found["columns"], found["values"]
    what = "own work" if found["of"] == "own_seconds" else "step time"
    together = rows[0][1] - rows[0][0] + 1
    note = f"median {seconds(usual)}" + (
        f" of a step of {seconds(step)}" if found["of"] == "own_seconds" else ""
    )
    note += f"; a row is the slowest of {together} ranks" if together > 1 else ""
    if found["of"] == "own_seconds":
        note += "; what a rank does before it meets the others"
    title = f"{what[:1].upper()}{what[1:]} by rank and step"
    height = min(max(ROW_HEIGHT * len(rows), LEAST_HEIGHT), MOST_HEIGHT)
    drawn = (
        f'<svg viewBox="0 0 {len(columns)} {len(rows)}" height="{height}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(described(title, found))}">{cells(values, usual, step)}</svg>'
    )
    return (
        f'<figure class="chart wide" id="chart-{NAME}"><figcaption><h3>{escape(title)}</h3><p class="note">'
        f'{escape(note)}</p></figcaption><div class="frame">{row_names(data, rows, height)}'
        f'<div class="heat">{drawn}</div>{column_names(columns)}</div>{key()}{table(found, data)}</figure>'
    )


def tone(value: float, usual: float, step: float) -> int:
    return sum(value - usual >= limit * step for limit in LIMITS)


def cells(values: Sequence[Sequence[Optional[float]]], usual: float, step: float) -> str:
    """A path for each tone, made of runs of cells, so that a thousand ranks cost no more than 64 rows."""
    paths: List[List[str]] = [[] for _ in NAMES]
    for y, row in enumerate(values):
        x = 0
        while x < len(row):
            value = row[x]
            begin, x = x, x + 1
            if value is None:
                continue
            mine = tone(value, usual, step)
            while x < len(row) and row[x] is not None and tone(row[x] or 0.0, usual, step) == mine:
                x += 1
            paths[mine].append(f"M{begin} {y}h{x - begin}v1h{begin - x}z")
    return "".join(f'<path class="h{n}" d="{"".join(path)}"/>' for n, path in enumerate(paths) if path)


def row_names(data: Mapping[str, Any], rows: Sequence[Tuple[int, int]], height: int) -> str:
    """The numbers of the ranks, as many as fit."""
    every = -(-len(rows) * 14 // height)
    texts = [
        f'<text x="100%" y="{height * (n + 0.5) / len(rows) + 4:.0f}" dx="-8">{rows[n][0]}</text>'
        for n in range(0, len(rows), every)
    ]
    return f'<svg class="ys" height="{height}" aria-hidden="true">{"".join(texts)}</svg>'


def column_names(columns: Sequence[Tuple[int, int]]) -> str:
    first, last = columns[0][0], columns[-1][1]
    return (
        f'<svg class="xs" aria-hidden="true"><text x="0" y="14">step {count(first)}</text>'
        f'<text x="100%" y="14" text-anchor="end">{count(last)}</text></svg>'
    )


def key() -> str:
    items = [
        f'<li><svg width="18" height="10" aria-hidden="true"><rect class="h{n}" width="18" height="10"/></svg>'
        f"{name}</li>"
        for n, name in enumerate(NAMES)
    ]
    return f'<ul class="key">{"".join(items)}</ul>'


def slowest(found: Mapping[str, Any]) -> List[Tuple[float, int, int]]:
    """(seconds, row, column) of the slowest cells that are slower than most."""
    cells_of = [
        (value, y, x)
        for y, row in enumerate(found["values"])
        for x, value in enumerate(row)
        if value is not None and tone(value, found["median"], found["step"]) > 1
    ]
    return sorted(cells_of, reverse=True)[:SLOWEST]


def described(title: str, found: Mapping[str, Any]) -> str:
    worst = slowest(found)
    ranks = plural(len(found["rows"]), "row")
    if not worst:
        return f"{title}: {ranks}, no cell is a tenth of a step slower than the median."
    value, y, x = worst[0]
    where = f"{span('rank', found['rows'][y])}, {span('step', found['columns'][x])}"
    return f"{title}: {ranks}; the slowest cell is {seconds(value)}, {where}."


def span(what: str, ends: Tuple[int, int]) -> str:
    return f"{what} {count(ends[0])}" if ends[0] == ends[1] else f"{what}s {count(ends[0])}–{count(ends[1])}"


def table(found: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    nodes = {row["rank"]: row.get("node") for row in data["ranks"]}
    rows = [
        f"<tr><td>{escape(span('rank', found['rows'][y]))}<td>{escape(nodes.get(found['rows'][y][0]) or '', 100)}"
        f"<td>{escape(span('step', found['columns'][x]))}<td>{escape(seconds(value))}"
        for value, y, x in slowest(found)
    ]
    if not rows:
        return '<p class="note">No cell is a tenth of a step slower than the median.</p>'
    head = "".join(f'<th scope="col">{name}</th>' for name in ("rank", "node", "step", "time"))
    return (
        f'<details class="data"><summary>the slowest {plural(len(rows), "cell")}</summary><div class="scroll">'
        f'<table class="left"><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div></details>'
    )
