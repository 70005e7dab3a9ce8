"""Prints findings and the last lines of a run, in the same form for every error: where and what, why, fix."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group
from rich.padding import Padding

from allranks.core import BLOCK, NOTE, OK, UNKNOWN, WARN, Finding
from allranks.core.run_states import NOT_SEEN
from allranks.core.text import fold, plural
from allranks.core.untrusted import integer, number
from allranks.output.console import Out
from allranks.output.report_findings import (
    CALLED,
    Folded,
    adapter_of,
    count_text,
    diagnosis_of,
    folded,
    saves_of,
    where_of,
)
from allranks.output.report_parts import run_again, verdict_sentence
from allranks.output.report_text import count, short
from allranks.output.table import print_fine

STYLES = {BLOCK: "bold red", UNKNOWN: "bold magenta", WARN: "bold yellow", NOTE: "bold", OK: "green"}
STATE_STYLES = {
    "succeeded": "bold green",
    "failed": "bold red",
    "stopped": "bold yellow",
    NOT_SEEN: "bold yellow",
    "lost": "bold yellow",
}


LONGEST_NAMES = 60


def waits_for(names: Sequence[str], seconds: float) -> str:
    """The nodes that have not answered yet, with as many names as fit into a line."""
    who = fold(names)
    if len(who) > LONGEST_NAMES:
        who = f"{plural(len(names), 'node')}: {who[:LONGEST_NAMES].rpartition(',')[0] or names[0]}, …"
    return f"waiting for {who} ({seconds:.0f} s)"


def print_findings(
    findings: Sequence[Finding | Mapping[str, Any]], verbose: bool = False, out: Out | None = None
) -> None:
    """Prints all findings, folded over nodes, worst first, and the count. With `verbose` it also lists the checks
    that passed."""
    out = out or Out()
    groups = folded(f.as_json() if isinstance(f, Finding) else f for f in findings)
    say_findings(out, [g for g in groups if g.verdict != OK], verbose)
    if verbose:
        print_fine(groups, out)
    if not groups:
        out.line("No findings.")
        return
    out.line(*counts(groups))


MOST_EXPLAINED = 6


def counts(groups: Sequence[Folded]) -> list[str | tuple[str, str]]:
    """`1 error, 2 warnings, 14 fine`, and at the end of the line the command that explains the worst of them."""
    parts: list[str | tuple[str, str]] = [count_text(groups)]
    ids = list(
        dict.fromkeys(g.text("id") for g in groups if g.verdict in (BLOCK, UNKNOWN, WARN) and g.text("id"))
    )
    if ids:
        which = f"   the worst {MOST_EXPLAINED} of {len(ids):,}:" if len(ids) > MOST_EXPLAINED else ""
        parts.append((f"{which}   allranks explain {' '.join(ids[:MOST_EXPLAINED])}", "dim"))
    return parts


def say_findings(out: Out, groups: Sequence[Folded], verbose: bool = False) -> None:
    """Prints each statement, with an empty line after it."""
    for group in groups:
        say_finding(out, group, verbose)
        out.line("")


def first_word(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The keeper's first finding about a failure. Its verdict follows as a separate finding."""
    found = diagnosis_of(raw) or {}
    said = found.get("evidence") or [found.get("cause") or ""]
    return {
        "id": found.get("cause"),
        "verdict": WARN,
        "where": found.get("where"),
        "saw": f"{said[0]} (preliminary; the final diagnosis follows when the run has stopped)",
    }


def say_finding(out: Out, group: Folded, verbose: bool = False) -> None:
    """Prints `run.yaml:25  …`, then `  why  …` and `  fix  …`. A fix is never broken into lines, so that it can be
    copied."""
    place = group.place()
    first = out.text((f"{place}  " if place else "", STYLES[group.verdict]), group.text("saw"))
    wrapped(out, first, 0)
    if group.text("why"):
        wrapped(out, out.text(("why  ", "dim"), group.text("why")), 2)
    if group.text("fix"):
        if out.console.record:
            wrapped(out, out.text(("fix  ", "dim"), group.text("fix")), 2)
        else:
            out.line(("  fix  ", "dim"), group.text("fix"))
    if not verbose:
        return
    if group.text("expected"):
        out.line(("  expected  ", "dim"), group.text("expected"))
    for line in list(group.finding.get("evidence") or ())[:20]:
        out.line(("  evidence  ", "dim"), str(line))
    out.line(("  id        ", "dim"), f"{group.text('id')}, {CALLED[group.verdict]}")


def wrapped(out: Out, line: Any, indent: int) -> None:
    """Prints a sentence. A terminal breaks it at words and indents the rest; a pipe gets it whole."""
    if not out.live:
        out.console.print(out.text(" " * indent) + line, soft_wrap=True)
        return
    line.no_wrap = False
    hang = indent + 5 if indent else 2
    parts = line.wrap(out.console, max(out.width - hang, 20))
    blocks = [Padding(part, (0, 0, 0, indent if i == 0 else hang)) for i, part in enumerate(parts)]
    out.console.print(Group(*blocks))


# ---- the end of a run ----


def print_summary(result: Mapping[str, Any], out: Out | None = None) -> None:
    """Prints the last lines: the result of the run, its adapter and the proof, the report, the commands.

    `result` is state.json with `directory` (and `report`) if they are known.
    """
    out = out or Out()
    state = str(result.get("state") or "unknown")
    sentence = verdict_sentence(as_report(result))
    first, rest = sentence.split(" ", 1)
    if first.lower() != state:
        first, rest = f"{state.capitalize()}:", sentence[:1].lower() + sentence[1:]
    wrapped(out, out.text((first, STATE_STYLES.get(state, "bold")), " ", rest), 0)
    fix = (diagnosis_of(result.get("diagnosis")) or {}).get("fix") or ""
    if fix and state == "failed":
        out.line(("  fix  ", "dim"), fix)
    described = rows(result)
    if described:
        out.line("")
    for name, value in described:
        out.line((f"  {name:<10}", "dim"), value)
    out.line("")
    told = commands(result)
    widest = max(len(command) for command, _ in told)
    for command, what in told:
        out.line(f"  {command:<{widest}}", (f"  {what}", "dim"))


def as_report(result: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of a state that the verdict's sentence needs."""
    nodes, findings = result.get("nodes"), result.get("findings")
    return {
        "state": dict(result),
        "summary": {"last_step": result.get("step")},
        "total_steps": result.get("total_steps"),
        "nodes": nodes if isinstance(nodes, list) else [],
        "ranks": [],
        "findings": findings if isinstance(findings, list) else [],
        "diagnosis": diagnosis_of(result.get("diagnosis")),
        "adapter": adapter_of(result.get("adapter")),
        "started_at": None,
        "ended_at": None,
        "last_at": None,
    }


def rows(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    adapter = adapter_of(result.get("adapter"))
    found = [("adapter", str(adapter["path"]))] if adapter.get("path") else []
    if adapter.get("tensors") is not None:
        text = f"{count(adapter['tensors'])} tensors, {count(adapter.get('parameters'))} parameters"
        step = integer(adapter.get("step"))
        text += f", step {step:,}" if step is not None else ""
        largest = number(adapter.get("max_difference"))
        if adapter["changed"] is True and largest is not None:
            text += f"; logits move by up to {short(largest)}"
        found.append(("verified", text))
    for one in saves_of(result.get("saves"))[:3]:
        step = f", step {one['step']:,}" if one["step"] is not None else ""
        found += [
            ("saved", one["path"]),
            ("", f"{one['title'] or 'of no known kind'}{step}: {told_whole(one)}"),
        ]
    report = report_path(result)
    if report:
        found.append(("report", report))
    return found


def told_whole(save: Mapping[str, Any]) -> str:
    """Whether a save is whole, as text."""
    if save["whole"] is None:
        return f"not judged: {save['why']}" if save["why"] else "whether it is whole is not known"
    return "whole, as far as its files tell" if save["whole"] else "not whole"


def report_path(result: Mapping[str, Any]) -> str:
    """The report's path if this machine knows it, shortened by the home folder."""
    text = str(result.get("report") or "")
    if not text and result.get("directory"):
        path = Path(str(result["directory"])) / "keeper" / "report.html"
        text = str(path) if path.exists() else ""
    home = f"{Path.home()}/"
    return f"~/{text[len(home) :]}" if len(home) > 2 and text.startswith(home) else text


def go_on(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The command that continues from a whole adapter of a failed run."""
    adapter, words = adapter_of(result.get("adapter")), run_again(result, "--resume", "auto")
    if result.get("state") not in ("failed", "lost") or not words or adapter.get("whole") is not True:
        return []
    step = integer(adapter.get("step"))
    what = "goes on" + (f" from step {step:,}" if step is not None else "") + ", after the fix"
    return [(words, what)]


def commands(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Each command with its purpose."""
    ident = shlex.quote(str(result.get("id") or "RUN"))
    rank = where_of((diagnosis_of(result.get("diagnosis")) or {}).get("where"))["rank"]
    whose = f" --rank {rank}" if rank is not None else ""
    found = [
        *go_on(result),
        (f"allranks report {ident}", "the run as a page"),
        (f"allranks logs {ident}{whose}", "what the ranks printed"),
    ]
    if adapter_of(result.get("adapter")).get("path"):
        found.append((f"allranks checkpoints verify {ident}", "verify the adapter again"))
    elif saves_of(result.get("saves")):
        found.append((f"allranks checkpoints verify {ident}", "verify the newest save again"))
    return found
