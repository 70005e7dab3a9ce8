"""The report's charts of the machines: GPUs, processors and network over time. Only the standard library."""

from __future__ import annotations

from typing import Any, Callable, List, Mapping, Tuple

from allranks.output.report_charts import Line, LineChart, line_chart
from allranks.output.report_parts import section
from allranks.output.report_text import compact_seconds, share, size

Form = Callable[[float], str]


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def celsius(value: float) -> str:
    return f"{value:.0f} °C"


def watts(value: float) -> str:
    return f"{value:,.0f} W"


def rate(value: float) -> str:
    return f"{size(value)}/s".replace(".00 ", " ").replace(".0 ", " ")


CHARTS: Tuple[Tuple[str, str, str, Form, Form], ...] = (
    # id, quantity, title, on the axis, in the note
    ("gpu-use", "gpu_use", "GPU use, mean of a node’s GPUs", percent, share),
    ("gpu-power", "gpu_watts", "GPU power, all GPUs of a node", watts, watts),
    ("gpu-temperature", "gpu_celsius", "GPU temperature, hottest of a node", celsius, celsius),
    ("network", "received", "Network, received by a node", rate, rate),
    ("cpu", "cpu", "Processors in use", percent, share),
)
NOISE_BYTES = 1 << 20
"""Bytes per second. Below that, a network carries little more than the run's own heartbeats."""


def machines(data: Mapping[str, Any]) -> str:
    """A chart of each quantity that nodes reported. The network has a chart only if something went over it."""
    found = data["charts"]["nodes"]
    drawn = []
    for ident, name, title, axis, note in CHARTS:
        if name in found and not (
            name == "received" and found[name]["highest"].get("value", 0) < NOISE_BYTES
        ):
            drawn.append(line_chart(chart(found[name], ident, title, axis, note)))
    body = f'<div class="charts">{"".join(drawn)}</div>' if drawn else ""
    return section("machines", "Machines", body)


def chart(found: Mapping[str, Any], ident: str, title: str, axis: Form, note: Form) -> LineChart:
    lines: List[Line] = [
        Line(node, points, f"s{place % 8}") for place, (node, points) in enumerate(found["lines"].items())
    ]
    highest, names = found["highest"], found["names"]
    said = f"highest {note(highest['value'])}, {highest['node']}" if highest else ""
    return LineChart(
        ident,
        title,
        axis,
        lines,
        found["bands"],
        said,
        x_name="",
        x_text=compact_seconds,
        from_zero=True,
        binary=ident == "network",
        of="nodes",
        who=lambda place: names[place],
    )
