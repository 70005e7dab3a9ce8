"""A run's report: one HTML file that loads nothing from the network, works without JavaScript, and can be printed.

`collect` reads a run directory, `render` writes the page. Both run on the node with only the standard library: the
report must exist even if the laptop that started the run is away.
"""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Tuple

from allranks.output import (
    report_events,
    report_failure,
    report_machines,
    report_nodes,
    report_parts,
    report_plots,
    report_saves,
)
from allranks.output.report_read import collect
from allranks.output.report_style import SCRIPT, STYLE, policy
from allranks.output.report_text import escape, moment

__all__ = ["collect", "render"]


def render(data: Dict[str, Any]) -> str:
    """The page for the result of `collect`. All text in it is escaped, so nothing that a node sent becomes markup."""
    parts = [
        report_failure.failure(data),
        report_plots.lead(data),
        report_parts.adapter(data),
        report_saves.saves(data),
        report_parts.findings(data),
        report_plots.phases(data),
        report_events.events(data),
        report_plots.charts(data),
        report_machines.machines(data),
        report_parts.plan(data),
        report_nodes.ranks(data),
        report_nodes.versions(data),
        report_nodes.commands(data),
        report_nodes.run_file(data),
        report_nodes.more(data),
    ]
    title = str(data["state"].get("name") or data["state"].get("id") or "run")
    body = f"{report_parts.header(data)}{contents(parts)}{parts[0]}{report_parts.figures(data)}{''.join(parts[1:])}"
    return document(f"{escape(title, 120)}: {report_parts.state_of(data)}", f"{body}{footer(data)}")


def document(title: str, body: str) -> str:
    """The whole page around `body`. Both arguments are already HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy()}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f'<title>{title}</title><link rel="icon" href="data:,">'
        f"<style>{STYLE}</style></head>\n<body><main>{body}</main>\n<script>{SCRIPT}</script></body></html>\n"
    )


TITLES: Tuple[Tuple[str, str], ...] = (
    ("cause", "Cause"),
    ("loss", "Loss"),
    ("adapter", "Adapter"),
    ("saves", "Saves"),
    ("findings", "Findings"),
    ("phases", "Phases"),
    ("events", "Events"),
    ("charts", "Training"),
    ("machines", "Machines"),
    ("plan", "Plan"),
    ("ranks", "Ranks"),
    ("versions", "Software"),
    ("commands", "Commands"),
    ("run-file", "Run file"),
    ("more", "More"),
)


def contents(parts: List[str]) -> str:
    """Links to the existing parts; `parts` are in the order of TITLES."""
    return links((one for one, part in zip(TITLES, parts) if part))


def links(titles: Iterable[Tuple[str, str]]) -> str:
    made = "".join(f'<a href="#{ident}">{title}</a>' for ident, title in titles)
    return f'<nav aria-label="parts of this report">{made}</nav>'


def footer(data: Dict[str, Any]) -> str:
    version = f" {data['version']}" if data["version"] else ""
    made = f"Made by allranks{version} on {moment(data['made_at'])}"
    made += f" from {data['events']:,} events in {data['directory']}."
    return f"<footer>{escape(made)}</footer>"
