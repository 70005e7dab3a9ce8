"""Bars drawn inside a table, so that the chart and its table are one. Only the standard library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Iterable, Optional, Sequence

from allranks.output.report_text import escape


@dataclass
class Bar:
    """One row: the bar goes from `start` to `start + length` (0…1); its first `inner` part has another tone."""

    name: str
    length: float
    text: str
    start: float = 0.0
    inner: float = 0.0
    more: str = ""
    style: str = ""
    ticks: Sequence[float] = ()
    """Moments, as parts of the width, drawn in place of a bar."""


def bars(caption: str, heads: Sequence[str], rows: Iterable[Bar], level: Optional[float] = None) -> str:
    """A table whose second column contains the bars.

    `heads` names the columns (name, bar, value, more); `level` is a planned value as a part of the width.
    """
    wide = len(heads) > 3
    style = "bars" if heads[1] else "bars bare"
    head = "".join(f'<th scope="col">{escape(h)}</th>' for h in heads)
    out = []
    for bar in rows:
        more = f"<td>{escape(bar.more)}</td>" if wide else ""
        out.append(
            f'<tr class="{bar.style}"><th scope="row">{escape(bar.name)}</th><td class="bar">{drawn(bar, level)}</td>'
            f"<td>{escape(bar.text)}</td>{more}</tr>"
        )
    return (
        f'<table class="{style}"><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(out)}</tbody></table>"
    )


def drawn(bar: Bar, level: Optional[float]) -> str:
    if bar.ticks:
        marks = "".join(f'<rect x="{100 * tick:.2f}%" width="2" height="100%"/>' for tick in bar.ticks)
        return f'<svg aria-hidden="true">{marks}</svg>'
    start, length = 100 * bar.start, 100 * bar.length
    inner = ""
    if bar.inner:
        inner = f'<rect class="inner" x="{start:.2f}%" width="{length * bar.inner:.2f}%" height="100%"/>'
    planned = (
        f'<rect class="planned" x="{100 * level:.2f}%" width="1.5" height="100%"/>'
        if level is not None
        else ""
    )
    return (
        f'<svg aria-hidden="true"><rect class="least" x="{start:.2f}%" width="1.5" height="100%"/>'
        f'<rect x="{start:.2f}%" width="{length:.2f}%" height="100%"/>{inner}{planned}</svg>'
    )
