"""The report's part about a script's saves: each place with its kind, and whether it is whole."""

from __future__ import annotations

from typing import Any, Mapping

from allranks.output.report_findings import saves_of
from allranks.output.report_parts import section
from allranks.output.report_text import count, escape

CALLED = {
    True: '<span class="good">whole</span>, as far as its files tell',
    False: '<span class="bad-text">not whole</span>',
}


def saves(data: Mapping[str, Any]) -> str:
    rows = []
    for one in saves_of(data["state"].get("saves")):
        parts = [CALLED.get(one["whole"], '<span class="warn">not judged</span>')]
        parts += [escape(one[name], 300) for name in ("title", "text", "why") if one[name]]
        if one["step"] is not None:
            parts.append(f"step {count(one['step'])}")
        rows.append((f"<code>{escape(one['path'], 1000)}</code>", "; ".join(parts)))
    if not rows:
        return ""
    body = "".join(f"<dt>{where}</dt><dd>{said}</dd>" for where, said in rows)
    return section("saves", "Saves", f'<dl class="facts">{body}</dl>')
