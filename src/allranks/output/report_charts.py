"""Charts as inline SVG and HTML. The node draws them with only the standard library.

A line chart is stretched to the page's width, but its text is not: the plot is one SVG that scales without keeping
its aspect ratio, and other SVGs beside it hold the labels, at percentages. A table under each chart has its numbers;
the hover values also come from it. No `style` attribute is written anywhere, because the page's policy forbids them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from allranks.core.text import plural
from allranks.output.report_series import quantile
from allranks.output.report_text import count, escape

WIDTH = 1000
HEIGHT = 184
CLIP = 4.0
"""A value above four times the 98th percentile is drawn at the edge, with its number. Otherwise the first step, which
compiles and allocates, would press all others onto the axis."""

Points = Sequence[Sequence[float]]
"""Rows of first x, last x, mean, low, high."""


@dataclass
class Line:
    """One drawn line; `style` is a class of the stylesheet (`s0` … `s7`, `wait`)."""

    label: str
    points: Points
    style: str = "s0"


@dataclass
class LineChart:
    """The input of one line chart. `bands` are rows of `Series.bands`; `level` is a planned value."""

    id: str
    title: str
    y_text: Callable[[float], str]
    lines: List[Line] = field(default_factory=list)
    bands: Sequence[Dict[str, float]] = ()
    note: str = ""
    x_name: str = "step"
    x_text: Callable[[float], str] = count
    from_zero: bool = False
    bad: Sequence[Sequence[float]] = ()
    marks: Sequence[Tuple[float, str, str]] = ()
    """Vertical marks: x, a label (may be empty), a class (`saved` or `end`)."""
    level: Optional[Tuple[float, str]] = None
    highest: Optional[float] = None
    """Set when the chart is scaled."""
    binary: bool = False
    """Whether the values are bytes. If so, the axis is divided in powers of 1,024."""
    of: str = "ranks"
    who: Callable[[int], str] = "rank {}".format
    """`of` names the parts of a band; `who` names one of them."""


@dataclass
class Scale:
    """Maps the data to the plot: x to 0…WIDTH, y to HEIGHT…0."""

    left: float
    right: float
    low: float
    high: float

    def x(self, value: float) -> float:
        if self.right <= self.left:
            return WIDTH / 2
        return WIDTH * min(max((value - self.left) / (self.right - self.left), 0.0), 1.0)

    def y(self, value: float) -> float:
        part = (value - self.low) / (self.high - self.low)
        return HEIGHT * (1 - min(max(part, 0.0), 1.0))

    def at(self, x: float, y: float) -> str:
        return f"{self.x(x):.1f} {self.y(y):.1f}"


def line_chart(chart: LineChart, wide: bool = False) -> str:
    """The figure with its plot, axes, key and table; a sentence if there is nothing to draw."""
    rows = [p for line in chart.lines for p in line.points]
    if not rows and not chart.bands:
        return figure(chart, f'<p class="none">{escape(nothing(chart))}</p>', wide)
    scale, above = scaled(chart, rows)
    parts = [
        '<div class="frame">',
        y_axis(chart, scale),
        f'<div class="plot">{plot(chart, scale, above)}{overlay(chart, scale)}</div>',
        x_axis(chart, scale),
        "</div>",
        key(chart, above),
        table(chart, scale),
    ]
    return figure(chart, "".join(parts), wide)


def nothing(chart: LineChart) -> str:
    if chart.bad:
        return f"No finite value was reported: {plural(int(sum(b[2] for b in chart.bad)), 'value')} of NaN or infinity."
    return "Not reported."


def figure(chart: LineChart, body: str, wide: bool) -> str:
    note = f'<p class="note">{escape(chart.note)}</p>' if chart.note else ""
    style = "chart wide" if wide else "chart"
    return (
        f'<figure class="{style}" id="chart-{chart.id}"><figcaption><h3>{escape(chart.title)}</h3>{note}'
        f"</figcaption>{body}</figure>"
    )


# ---- scales ----


def scaled(chart: LineChart, rows: Points) -> Tuple[Scale, List[Sequence[float]]]:
    """The scale, and the points above it."""
    xs = [x for p in rows for x in p[:2]] + [x for b in chart.bands for x in (b["first"], b["last"])]
    xs += [x for b in chart.bad for x in b[:2]]
    lows = [p[3] for p in rows] + [b["low"] for b in chart.bands]
    highs = [p[4] for p in rows] + [b["high"] for b in chart.bands]
    top = max(highs)
    above: List[Sequence[float]] = []
    if chart.from_zero:
        usual = quantile(sorted(highs), 0.98 if len(highs) > 50 else 0.9)
        if usual > 0 and top > CLIP * usual:
            top = 1.3 * usual
            above = [p for p in rows if p[4] > top]
    if chart.level is not None:
        top = max(top, chart.level[0])
    low = 0.0 if chart.from_zero and min(lows) >= 0 else min(lows)
    ticks = y_ticks(chart, low, top)
    chart.highest = top
    high = max(top, ticks[-1]) if not above else top
    return Scale(min(xs), max(xs), min(low, ticks[0]), high), above


def nice_ticks(low: float, high: float, about: int = 4) -> List[float]:
    """Round numbers from at or below `low` to at or above `high`: steps of 1, 2, 2.5 or 5 times a power of ten."""
    if not high - low > 1e-100:
        pad = abs(low) * 0.1 or 1.0
        low, high = low - pad, high + pad
    raw = (high - low) / about
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= raw * 0.999)
    first = math.floor(low / step + 1e-9)
    last = math.ceil(high / step - 1e-9)
    return [n * step for n in range(first, last + 1)]


def y_ticks(chart: LineChart, low: float, high: float) -> List[float]:
    unit = binary_unit(high) if chart.binary else 1.0
    return [tick * unit for tick in nice_ticks(low / unit, high / unit)]


def binary_unit(high: float) -> float:
    return 1024.0 ** int(math.log(high, 1024)) if high >= 1 else 1.0


def y_texts(chart: LineChart, ticks: Sequence[float]) -> List[str]:
    """All bytes of an axis in one unit: `1,000 MiB` above `750 MiB`."""
    if not chart.binary or not ticks:
        return [chart.y_text(tick) for tick in ticks]
    unit = binary_unit(max(chart.highest or 0.0, 1.0))
    name = chart.y_text(unit).split(" ", 1)[1]
    return [f"{tick / unit:,.6g} {name}" for tick in ticks]


def x_ticks(left: float, right: float) -> List[float]:
    """Whole numbers inside the range, and its ends if they are not too close to the others."""
    if right <= left:
        return [left]
    inner = [t for t in nice_ticks(left, right, 5) if left < t < right and t == int(t)]
    room = 0.07 * (right - left)
    return [left, *[t for t in inner if t - left > room and right - t > room], right]


# ---- the plot ----


def plot(chart: LineChart, scale: Scale, above: Sequence[Sequence[float]]) -> str:
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(described(chart))}">'
    ]
    for tick in y_ticks(chart, scale.low, scale.high):
        if scale.low <= tick <= scale.high:
            y = f"{scale.y(tick):.1f}"
            parts.append(f'<path class="grid" d="M0 {y}H{WIDTH}"/>')
    if chart.level is not None:
        parts.append(f'<path class="level" d="M0 {scale.y(chart.level[0]):.1f}H{WIDTH}"/>')
    for x, _, style in chart.marks:
        top = 0 if style == "end" else HEIGHT - 7
        parts.append(f'<path class="mark {style}" d="M{scale.x(x):.1f} {HEIGHT}V{top}"/>')
    if chart.bands:
        parts.append(f'<path class="band" d="{ribbon(chart.bands, "p95", "p5", scale)}"/>')
        middle = [(b["first"], b["last"], b["p50"]) for b in chart.bands]
        parts.append(f'<path class="line s0" d="{trace(middle, (), scale)}"/>')
    for line in chart.lines:
        if line.style != "wait" and any(p[4] > p[3] and p[1] > p[0] for p in line.points):
            parts.append(f'<path class="spread {line.style}" d="{extremes(line.points, scale)}"/>')
    for line in chart.lines:
        parts.append(f'<path class="line {line.style}" d="{trace(line.points, chart.bad, scale)}"/>')
    for first, last, _ in chart.bad:
        parts.append(f'<path class="bad" d="M{scale.x(first - 0.5):.1f} 3H{scale.x(last + 0.5):.1f}"/>')
    for point in above:
        parts.append(f'<path class="above" d="M{scale.x(middle_of(point)):.1f} 3h0"/>')
    return "".join(parts) + "</svg>"


def middle_of(point: Sequence[float]) -> float:
    return (point[0] + point[1]) / 2


def trace(points: Points, bad: Sequence[Sequence[float]], scale: Scale) -> str:
    """A path through the means, broken at values that are not numbers. A single point is a dot."""
    holes = sorted(b[0] for b in bad)
    out: List[str] = []
    last_x: Optional[float] = None
    for point in points:
        x = middle_of(point)
        fresh = last_x is None or any(last_x < hole < x for hole in holes)
        out.append(("M" if fresh else "L") + scale.at(x, point[2]) + ("h0" if fresh else ""))
        last_x = x
    return "".join(out)


def extremes(points: Points, scale: Scale) -> str:
    top = [scale.at(middle_of(p), p[4]) for p in points]
    bottom = [scale.at(middle_of(p), p[3]) for p in reversed(points)]
    return "M" + "L".join(top + bottom) + "Z"


def ribbon(bands: Sequence[Dict[str, float]], upper: str, lower: str, scale: Scale) -> str:
    return extremes([(b["first"], b["last"], b["p50"], b[lower], b[upper]) for b in bands], scale)


def overlay(chart: LineChart, scale: Scale) -> str:
    """Labels inside the plot. They must not be stretched, so they have their own SVG."""
    parts = []
    if chart.level is not None:
        y = 100 * scale.y(chart.level[0]) / HEIGHT
        text, shift = escape(chart.level[1]), 14 if exceeded(chart) else -5
        parts.append(
            f'<text class="level" x="100%" y="{y:.1f}%" dy="{shift}" text-anchor="end">{text}</text>'
        )
    for x, label, style in chart.marks:
        if label:
            part = scale.x(x) / WIDTH
            anchor, shift = ("end", -4) if part > 0.5 else ("start", 4)
            parts.append(
                f'<text class="{style}" x="{100 * part:.2f}%" y="12" dx="{shift}" text-anchor="{anchor}">'
                f"{escape(label)}</text>"
            )
    return f'<svg class="over" aria-hidden="true">{"".join(parts)}</svg>' if parts else ""


def exceeded(chart: LineChart) -> bool:
    """Whether the last values are above the planned level. If so, the label of the level is drawn below it."""
    lasts = [line.points[-1][2] for line in chart.lines if line.points] + [b["p50"] for b in chart.bands[-1:]]
    return chart.level is not None and any(value > chart.level[0] for value in lasts)


def y_axis(chart: LineChart, scale: Scale) -> str:
    ticks = [tick for tick in y_ticks(chart, scale.low, scale.high) if scale.low <= tick <= scale.high]
    texts = [
        f'<text x="100%" y="{scale.y(tick) + 4:.0f}" dx="-8">{escape(text)}</text>'
        for tick, text in zip(ticks, y_texts(chart, ticks))
    ]
    return f'<svg class="ys" aria-hidden="true">{"".join(texts)}</svg>'


def x_axis(chart: LineChart, scale: Scale) -> str:
    texts = []
    ticks = x_ticks(scale.left, scale.right)
    for tick in ticks:
        name = f"{chart.x_name} " if tick == ticks[0] and chart.x_name else ""
        anchor = "middle"
        if len(ticks) > 1:
            anchor = "start" if tick == ticks[0] else "end" if tick == ticks[-1] else "middle"
        texts.append(
            f'<text x="{scale.x(tick) / WIDTH * 100:.2f}%" y="14" text-anchor="{anchor}">'
            f"{escape(name + chart.x_text(tick))}</text>"
        )
    return f'<svg class="xs" aria-hidden="true">{"".join(texts)}</svg>'


def described(chart: LineChart) -> str:
    """The chart as a sentence, for readers who cannot see it."""
    text = f"{chart.title} by {chart.x_name or 'time'}"
    points = (
        chart.lines[0].points if chart.lines else [(b["first"], b["last"], b["p50"]) for b in chart.bands]
    )
    if points:
        text += f": from {chart.y_text(points[0][2])} to {chart.y_text(points[-1][2])}"
    return f"{text}. {chart.note} The numbers are in the table below."


def key(chart: LineChart, above: Sequence[Sequence[float]]) -> str:
    items = []
    if chart.bands:
        items.append(
            swatch("line s0", f"median of {chart.of}")
            + swatch("band", f"5th to 95th percentile of {chart.of}")
        )
    if chart.lines and (chart.bands or len(chart.lines) > 1):
        items += [swatch(f"line {line.style}", line.label) for line in chart.lines]
    if any(style == "saved" for _, _, style in chart.marks):
        items.append(swatch("mark saved", "checkpoint saved"))
    if chart.bad:
        amount = int(sum(b[2] for b in chart.bad))
        first = chart.bad[0][0]
        what = f"{plural(amount, 'value')} no finite number, from {chart.x_name} {chart.x_text(first)} on"
        items.append(swatch("bad", what))
    if above:
        most = max(above, key=lambda p: p[4])
        highest = f"{chart.y_text(most[4])} at {chart.x_name} {chart.x_text(most[0])}"
        items.append(swatch("above", f"{plural(len(above), 'point')} above the scale, up to {highest}"))
    return f'<ul class="key">{"".join(items)}</ul>' if items else ""


def swatch(style: str, label: str) -> str:
    if style == "band":
        shape = '<rect class="band" width="18" height="9"/>'
    elif style == "mark saved":
        shape = '<path class="mark saved" d="M9 10V1"/>'
    else:
        shape = f'<path class="{style}" d="M1 5H17"/>'
    return f'<li><svg width="18" height="10" aria-hidden="true">{shape}</svg>{escape(label)}</li>'


# ---- the table under a chart ----


def table(chart: LineChart, scale: Scale) -> str:
    """The drawn numbers, one row per bin. `data-p` is the row's place on the plot, in thousandths."""
    columns, rows = chart_rows(chart)
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in [chart.x_name or "time", *columns])
    body = []
    for (first, last), cells in rows:
        name = chart.x_text(first) if first == last else f"{chart.x_text(first)}–{chart.x_text(last)}"
        place = scale.x((first + last) / 2)
        filled = "".join(f"<td>{cell}" for cell in cells)
        body.append(f'<tr data-p="{place:.0f}"><th scope="row">{escape(name)}{filled}')
    return (
        f'<details class="data"><summary>{plural(len(rows), "row")} as a table</summary><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table></div></details>"
    )


def chart_rows(chart: LineChart) -> "Tuple[List[str], List[Tuple[Tuple[float, float], List[str]]]]":
    """The names of the columns, and for each bin its cells, in order."""
    bins: Dict[Tuple[float, float], List[str]] = {}
    columns: List[str] = []
    if chart.bands:
        columns += ["p5", "median", "p95", "highest"]
        for b in chart.bands:
            cells = [chart.y_text(b[name]) for name in ("p5", "p50", "p95")]
            cells.append(f"{chart.y_text(b['high'])} ({chart.who(int(b['high_rank']))})")
            bins[(b["first"], b["last"])] = [escape(cell) for cell in cells]
    for line in chart.lines:
        wide = any(p[1] > p[0] for p in line.points)
        filled = len(columns)
        columns += [line.label, "low–high"] if wide and len(chart.lines) == 1 else [line.label]
        for p in line.points:
            cells = bins.setdefault((p[0], p[1]), [])
            cells += [""] * (filled - len(cells))
            cells.append(escape(chart.y_text(p[2])))
            if len(columns) - filled == 2:
                cells.append(escape(f"{chart.y_text(p[3])}–{chart.y_text(p[4])}"))
    for first, last, amount in chart.bad:
        cells = bins.setdefault((first, last), [])
        cells += [""] * (len(columns) - len(cells))
        if cells:
            cells[0] = (cells[0] + " " if cells[0] else "") + f"{int(amount)} no number"
    rows = [(place, cells + [""] * (len(columns) - len(cells))) for place, cells in sorted(bins.items())]
    return columns, rows
