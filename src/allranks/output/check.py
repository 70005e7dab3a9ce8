"""The output of `allranks check`: the findings, the nodes folded into one line per kind, and the count."""

from __future__ import annotations

import contextlib
import sys
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.cells import cell_len

from allranks.checks import COLUMNS, Line, Standing
from allranks.checks.lint import COSTLY, DROPPED, SET, VOID, WRONG
from allranks.core import NOTE, OK, VERDICTS, Finding, Where, stopping_launch
from allranks.core.text import fold, natural, plural
from allranks.output.console import Out
from allranks.output.messages import STYLES, counts, say_findings, waits_for
from allranks.output.report_findings import CALLED, folded
from allranks.output.report_text import one_line
from allranks.output.table import print_fine, total_width
from allranks.spec import Run

MOST_ROWS = 40
"""The most rows of the table of nodes. If more nodes differ, the table would be too long; `--json` has each of them."""

READY = "ready"
STATE_STYLES = {**{CALLED[verdict]: style for verdict, style in STYLES.items()}, READY: "green"}
SETTING_STYLES = {
    WRONG: "bold red",
    VOID: "bold yellow",
    COSTLY: "bold yellow",
    DROPPED: "bold",
    SET: "green",
}
SETTINGS_ORDER = (WRONG, VOID, COSTLY, DROPPED, SET)


@dataclass(frozen=True)
class Checked:
    """The result of one `check`. `seconds` is None if recorded facts were judged."""

    findings: Sequence[Finding]
    standings: Sequence[Standing]
    applying: Sequence[str]
    settings: Sequence[tuple[Line, Where]] = ()
    seconds: float | None = None
    verbose: bool = False
    hidden: Sequence[str] = field(default_factory=tuple)
    """Ids that --only or --skip left out although they have a finding."""

    narrowed: bool = False
    """Whether --only or --skip was given. If so, the output does not say whether the nodes are ready."""

    accept: Collection[str] = ()
    """Ids that the user accepts: they do not stop anything."""


def print_check(checked: Checked, out: Out | None = None) -> None:
    out = out or Out()
    addresses = {one.node.name: one.node.address for one in checked.standings}
    groups = folded((finding.as_json() for finding in checked.findings), addresses)
    say_findings(out, [group for group in groups if group.verdict != OK], checked.verbose)
    print_nodes(checked.standings, out)
    if checked.verbose:
        print_settings(checked.settings, out)
        print_quiet(checked, out)
        print_fine(groups, out)
    out.line("")
    out.line(*sentence(checked))
    if any(group.verdict != OK for group in groups):
        out.line(*counts(groups))
    if checked.hidden:
        out.line(("left out by --only or --skip: ", "dim"), " ".join(checked.hidden))


def sentence(checked: Checked) -> list[str | tuple[str, str]]:
    """`30 nodes asked in 2.1 s, 97 checks. 28 of 30 nodes are ready.`"""
    total, ready = len(checked.standings), sum(one.passes for one in checked.standings)
    asked = "judged from recorded facts" if checked.seconds is None else f"asked in {checked.seconds:.1f} s"
    text = f"{plural(total, 'node')} {asked}, {plural(len(checked.applying), 'check')}. "
    if not checked.applying and not checked.findings:
        return [text, "None of these checks applies to a run of this kind."]
    if ready < total == 1:
        return [text, ("It is not ready.", "bold red")]
    if ready < total:
        return [text, (f"{ready:,} of {plural(total, 'node')} ready.", "bold red")]
    stops = bool(stopping_launch(checked.findings, checked.accept))
    if checked.narrowed and not stops:
        return [text, "These checks found nothing that prevents a launch."]
    if stops:
        return [text, "All nodes are ready; ", ("the run is not.", "bold red")]
    return [text, ("Ready to run." if total == 1 else "All nodes are ready.", "bold green")]


# ---- while the nodes are asked ----

MOST_NAMED = 4


@contextlib.contextmanager
def waiting(
    run: Run, quiet: bool = False, out: Out | None = None
) -> Iterator[Callable[[list[str], float], None]]:
    """Names the silent nodes while others answer. It yields the function that takes them. On a terminal that function
    changes one line; in a pipe it writes a line to stderr whenever the silent nodes change. With --json it prints
    nothing."""
    names = [node.name for node in run.cluster.nodes]
    if quiet:
        yield lambda _names, _seconds: None
    elif (shown := out or Out()).live:
        few = len(names) <= MOST_NAMED
        begin = f"looking at {fold(names) if few else plural(len(names), 'node')}"
        with shown.console.status(shown.text(begin)) as status:
            yield lambda names, seconds: status.update(
                shown.text(waits_for(names, seconds) if names else "judging")
            )
    else:
        yield Repeated(out or Out(file=sys.stderr)).late


class Repeated:
    """For a log: prints each set of silent nodes once."""

    def __init__(self, out: Out):
        self.out, self.said = out, frozenset[str]()

    def late(self, names: list[str], seconds: float) -> None:
        if names and frozenset(names) != self.said:
            self.out.line(waits_for(names, seconds))
        self.said = frozenset(names)


# ---- the nodes ----


def print_nodes(standings: Sequence[Standing], out: Out) -> None:
    """One line for all nodes with the same facts and the same verdict. The worst come first, below the shared facts."""
    rows = node_rows(standings)
    heads = ["nodes", "", "findings", *COLUMNS]
    shared = shared_columns(rows)
    if len(rows) > 1 and shared:
        text = ", ".join(f"{heads[n]} {value}" for n, value in shared.items() if value != "—")
        out.line(("every node that answered  ", "dim"), text) if text else None
    empty = set(shared) if len(rows) > 1 else {n for n, value in shared.items() if value == "—"}
    keep = [n for n in range(len(heads)) if n not in empty and any(row[n] for row in rows)]
    # A narrow terminal first loses the columns that matter least for the run.
    for n in range(len(heads) - 1, 2, -1):
        if out.live and n in keep and total_width([heads, *rows], keep) > out.width:
            keep.remove(n)
    shown = rows if len(rows) <= MOST_ROWS else rows[:MOST_ROWS]
    widths = {n: max(cell_len(out.text(row[n]).plain) for row in [heads, *shown]) for n in keep}
    for number, row in enumerate([heads, *shown]):
        line = out.text()
        for n in keep:
            style = "dim" if number == 0 else STATE_STYLES.get(row[1], "") if n == 1 else ""
            cell = out.text((row[n], style))
            cell.pad_right(widths[n] - cell_len(cell.plain) + 2)
            line.append_text(cell)
        line.rstrip()
        out.console.print(line, soft_wrap=True)
    if len(rows) > len(shown):
        out.line(
            (f"… and {plural(len(rows) - len(shown), 'more kind')} of nodes: --json has each node", "dim")
        )


def shared_columns(rows: Sequence[Sequence[str]]) -> dict[int, str]:
    """The columns about the machine in which all nodes that answered have the same value, with that value."""
    found = {}
    for n in range(3, 3 + len(COLUMNS)):
        values = {row[n] for row in rows if any(value != "?" for value in row[3:])}
        if len(values) == 1:
            found[n] = values.pop()
    return found


def node_rows(standings: Sequence[Standing]) -> list[list[str]]:
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in standings:
        about = tuple(one_line(one.about.get(name, ""), 60) for name in COLUMNS)
        groups.setdefault((state_of(one), ids_text(one.findings), about, one.verdict), []).append(
            one.node.name
        )
    order = sorted(
        groups.items(), key=lambda item: (-VERDICTS.index(item[0][3]), natural(min(item[1], key=natural)))
    )
    return [[one_line(fold(names), 300), state, ids, *about] for (state, ids, about, _), names in order]


def state_of(one: Standing) -> str:
    """`error`, `unknown`, `warning` or `ready`. A node with only a note is ready."""
    return READY if one.verdict in (OK, NOTE) else CALLED[one.verdict]


def ids_text(ids: Sequence[str], most: int = 3) -> str:
    return ", ".join(ids[:most]) + (f" +{len(ids) - most}" if len(ids) > most else "")


# ---- the additions of -v ----


def print_settings(settings: Sequence[tuple[Line, Where]], out: Out) -> None:
    """Every setting that the user wrote, its effect, and the reason. Settings that need a change come first."""
    if not settings:
        return
    ordered = sorted(settings, key=lambda one: SETTINGS_ORDER.index(one[0].status))
    rows = [
        [line.status, one_line(named(line), 100), one_line(place_of(where), 60), one_line(said(line))]
        for line, where in ordered
    ]
    out.line("")
    out.line((f"{plural(len(rows), 'setting')} of the run file", "dim"))
    widths = [max(cell_len(row[n]) for row in rows) for n in range(3)]
    for row in rows:
        first = out.text((row[0].ljust(widths[0]) + "  ", SETTING_STYLES.get(row[0], "")))
        first.append(out.fit(row[1].ljust(widths[1]) + "  "))
        first.append(out.fit(row[2].ljust(widths[2]) + "  "), style="dim")
        indent = sum(widths) + 6
        if not out.live or out.width - indent < 30:
            out.console.print(first + out.text(row[3]), soft_wrap=True)
            continue
        parts = textwrap.wrap(out.fit(row[3]), out.width - indent) or [""]
        out.console.print(first + out.text(parts[0]), soft_wrap=True)
        for part in parts[1:]:
            out.console.print(out.text(" " * indent + part), soft_wrap=True)


def named(line: Line) -> str:
    value = str(line.value).lower() if isinstance(line.value, bool) else line.value
    return line.name if value is None else f"{line.name}={value}"


def said(line: Line) -> str:
    return f"{line.why}; do: {line.do}" if line.do else line.why


def place_of(where: Where) -> str:
    parts = [
        f"{where.file}:{where.line}" if where.file and where.line else where.file or "",
        where.node or "",
    ]
    return " ".join(part for part in parts if part)


def print_quiet(checked: Checked, out: Out) -> None:
    """The checks that ran and found nothing."""
    spoke = {finding.id for finding in checked.findings if finding.verdict != OK} | set(checked.hidden)
    quiet = [name for name in checked.applying if name not in spoke]
    if not quiet:
        return
    out.line("")
    out.line((f"{plural(len(quiet), 'check')} found nothing wrong", "dim"))
    width = out.width if out.live else 110
    for part in textwrap.wrap("  ".join(quiet), width - 2, break_long_words=False, break_on_hyphens=False):
        out.line("  " + part)


# ---- JSON ----


def as_json(checked: Checked) -> Mapping[str, Any]:
    return {
        "nodes": [one.as_json() for one in checked.standings],
        "findings": [finding.as_json() for finding in checked.findings],
        "checks": list(checked.applying),
        "settings": [setting_json(line, where) for line, where in checked.settings],
        "seconds": None if checked.seconds is None else round(checked.seconds, 3),
    }


def setting_json(line: Line, where: Where) -> dict[str, Any]:
    return {
        "kind": line.kind,
        "name": line.name,
        "value": line.value,
        "status": line.status,
        "why": line.why,
        "do": line.do,
        "where": {"node": where.node, "file": where.file, "line": where.line},
    }
