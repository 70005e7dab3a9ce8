"""Draws the README's picture: the terminal view of a real run, from that run's journal.

`python -m allranks.output.picture RUN_DIRECTORY OUT.svg` writes it.
"""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rich.terminal_theme import TerminalTheme

from allranks.core import Event, event_from_json
from allranks.output.console import Out
from allranks.output.terminal import LiveView, print_summary

WIDTH = 94
COMMAND = "allranks run examples/tiny-deepseek-v3.yaml"

THEME = TerminalTheme(
    (21, 23, 27),
    (222, 220, 214),
    [
        (21, 23, 27),
        (226, 110, 102),
        (99, 185, 138),
        (219, 166, 70),
        (127, 176, 232),
        (220, 139, 198),
        (111, 198, 236),
        (222, 220, 214),
    ],
)
"""The report's dark colours."""

FORMAT = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg" role="img">
<title>allranks in a terminal</title>
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
font-size: {char_height}px; line-height: {line_height}px; font-variant-east-asian: full-width }}
.{unique_id}-title {{ display: none }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{height}"/>
</clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g></g></svg>
"""
"""rich's own frame without its fonts, which a viewer would fetch from a host on the Internet."""


def write_svg(
    events: Iterable[Event], path: str, state: Mapping[str, Any] | None = None, command: str = COMMAND
) -> None:
    """Draws the terminal view at the end of the run whose events are `events`.

    `state` is the run's state.json (the last lines show its id and adapter). Without it they come from the events.
    """
    events = list(events)
    out = Out(file=io.StringIO(), width=WIDTH, live=True, record=True)
    out.line(("$ ", "dim"), (command, "bold"))
    view = LiveView(out=out, clock=lambda: 0.0)
    view.run_id = str((state or state_from(events)).get("id") or "")
    for event in events:
        view.add(event)
        view.progress_at = float("-inf")
    view.flush()
    out.console.print(view.render())
    out.line("")
    print_summary(state if state is not None else state_from(events), out)
    out.line("")
    svg = out.console.export_svg(title="", theme=THEME, code_format=FORMAT, unique_id="allranks")
    Path(path).write_text(svg, encoding="utf-8")


def state_from(events: Iterable[Event]) -> dict[str, Any]:
    """The parts of state.json that the last lines need."""
    state: dict[str, Any] = {"findings": [], "nodes": []}
    for event in events:
        data = dict(event.data)
        state.setdefault("started_at", event.at)
        state["ended_at"] = event.at
        if event.node is not None and event.node not in state["nodes"]:
            state["nodes"].append(event.node)
        if event.kind == "state":
            state["state"] = data.get("state")
        elif event.kind in ("adapter", "diagnosis"):
            state[event.kind] = data
        elif event.kind == "finding":
            state["findings"].append(data)
        elif event.kind == "beat":
            state["step"] = max(state.get("step") or 0, int(data.get("step") or 0))
            state["total_steps"] = data.get("total_steps") or state.get("total_steps")
        elif event.kind == "supervisor" and isinstance(data.get("process"), Mapping):
            state["id"] = data["process"].get("run_id") or state.get("id")
    if state.get("id"):
        state["report"] = f"~/.allranks/runs/{state['id']}/keeper/report.html"
    return state


def main(arguments: list[str]) -> int:
    """RUN_DIRECTORY OUT.svg"""
    directory, target = Path(arguments[0]), arguments[1]
    events = []
    with open(directory / "keeper" / "journal.jsonl", encoding="utf-8") as journal:
        for line in journal:
            events.append(event_from_json(json.loads(line)))
    state = json.loads((directory / "keeper" / "state.json").read_text(encoding="utf-8"))
    write_svg(events, target, state)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
