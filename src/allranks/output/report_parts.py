"""The report's upper part: the result, the adapter, the cause, the findings, the plan."""

from __future__ import annotations

import shlex
from typing import Any, List, Mapping, Optional, Sequence, Tuple

from allranks.core.run_states import NOT_SEEN
from allranks.core.text import plural
from allranks.core.untrusted import integer, number
from allranks.output.report_findings import (
    CALLED,
    Folded,
    blamed,
    count_text,
    folded,
    lines_of,
    place,
    saves_of,
    unsaid,
)
from allranks.output.report_text import (
    MISSING,
    compact_seconds,
    count,
    escape,
    loss_text,
    moment,
    seconds,
    share,
    short,
    size,
)

STATES = ("checking", "starting", "running", "succeeded", "failed", "stopped", NOT_SEEN, "lost")
MOST_SHOWN = 200


def section(ident: str, title: str, body: str, small: str = "") -> str:
    """A part of the page; empty if it has no content."""
    if not body:
        return ""
    more = f" <small>{escape(small)}</small>" if small else ""
    return f'<section id="{ident}"><h2>{escape(title)}{more}</h2>{body}</section>'


def facts(rows: Sequence[Tuple[str, str]]) -> str:
    """A list of names and values. The values are already HTML."""
    inner = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in rows if value)
    return f'<dl class="facts">{inner}</dl>' if inner else ""


def state_of(data: Mapping[str, Any]) -> str:
    state = str(data["state"].get("state"))
    return state if state in STATES else "unknown"


# ---- the result in one sentence ----


def verdict_sentence(data: Mapping[str, Any]) -> str:
    """The run in a sentence: its result, or the cause of its end and the place."""
    state, reached = state_of(data), progress(data)
    if state == NOT_SEEN:
        return "Ended with 0; no process group, step or save was seen, so nothing shows that it trained."
    if state == "succeeded" and integer(data["summary"].get("last_step")) is None:
        return f"Ended without an error; no training step was seen.{adapter_sentence(data) or saves_sentence(data)}"
    if state == "succeeded":
        return f"Trained {reached}.{adapter_sentence(data) or saves_sentence(data)}"
    if state == "failed":
        cause = cause_of(data)
        return (
            f"Failed {reached_at(data)}: {cause}"
            if cause
            else f"Failed {reached_at(data)}; no cause was found."
        )
    if state == "stopped":
        return f"Stopped {reached_at(data)}, as asked.{adapter_sentence(data)}"
    if state == "lost":
        cause = cause_of(data) if data.get("diagnosis") else ""
        return f"Lost {reached_at(data)}: {cause or 'the nodes that held the run no longer answer for it.'}"
    if state == "unknown":
        return "What became of this run could not be read."
    return f"Not ended when this report was made: {state}, {reached_at(data)}."


def progress(data: Mapping[str, Any]) -> str:
    """`36 steps on 3 ranks of 3 nodes in 21.3 s`."""
    steps = integer(data["summary"].get("last_step"))
    named = data["state"].get("nodes")
    nodes = len(named if isinstance(named, list) and named else data["nodes"])
    text = plural(steps, "step") if steps is not None else "an unknown number of steps"
    ranks = len(data["ranks"])
    if ranks:
        text += f" on {plural(ranks, 'rank')}" + (f" of {plural(nodes, 'node')}" if nodes else "")
    spent = duration(data)
    return text + (f" in {seconds(spent)}" if spent is not None else "")


def reached_at(data: Mapping[str, Any]) -> str:
    step, total = integer(data["summary"].get("last_step")), integer(data.get("total_steps"))
    if step is None:
        step = integer(data["state"].get("step"))
    if not step:
        return "before the first step"
    return f"at step {step:,} of {total:,}" if total else f"at step {step:,}"


def adapter_sentence(data: Mapping[str, Any]) -> str:
    adapter = data["adapter"]
    if not adapter:
        return ""
    if adapter.get("whole") is False:
        return " The adapter is not whole."
    if adapter.get("whole") is not True:
        return " An adapter was found and not verified."
    if adapter.get("changed") is True:
        return " The adapter is whole and changes the model’s output."
    if adapter.get("changed") is False:
        return " The adapter’s files are whole, and it changes nothing in the model’s output."
    return " The adapter is whole; it was not loaded onto its base."


def saves_sentence(data: Mapping[str, Any]) -> str:
    """A sentence about the newest save of a script."""
    newest = next(iter(saves_of(data["state"].get("saves"))), None)
    if newest is None:
        return ""
    whole = {True: "is whole, as far as its files tell", False: "is not whole"}
    return f" Its newest save {whole.get(newest['whole'], 'could not be judged')}."


def cause_of(data: Mapping[str, Any]) -> str:
    """The sentence of the diagnosis, else of the worst finding, else the keeper's reason."""
    diagnosis = data.get("diagnosis") or {}
    groups = [group for group in folded(data["findings"]) if group.verdict == "block"]
    for group in groups:
        if not diagnosis or group.text("id") == str(diagnosis.get("cause")):
            return joined(group.wheres, group.text("saw"))
    evidence = diagnosis.get("evidence") or ()
    if diagnosis:
        said = str(evidence[0]) if evidence else str(diagnosis.get("cause"))
        return joined([diagnosis.get("where") or {}], said)
    return str(data["state"].get("why") or "")


def joined(wheres: Sequence[Mapping[str, Any]], said: str) -> str:
    """The place and the statement in one sentence, which names a rank only once."""
    where = place(unsaid(list(wheres), said))
    return f"{where}: {said}" if where and not said.startswith(where) else said


def duration(data: Mapping[str, Any]) -> Optional[float]:
    started, ended = (
        number(data.get("started_at")),
        number(data.get("ended_at")) or number(data.get("last_at")),
    )
    return None if started is None or ended is None else max(0.0, ended - started)


# ---- header ----


def header(data: Mapping[str, Any]) -> str:
    state = state_of(data)
    ident = data["state"].get("id") or ""
    name = data["state"].get("name") or ident or "a run"
    parts = [
        f"<b>{escape(name, 200)}</b>",
        f"<code>{escape(ident, 200)}</code>" if ident and ident != name else "",
    ]
    run = "".join(f"<span>{part}</span>" for part in (*parts, escape(times(data))) if part)
    return (
        f'<header class="{state}"><p class="run"><span class="state">{state}</span>{run}</p>'
        f"<h1>{escape(verdict_sentence(data), 900)}</h1></header>"
    )


def figures(data: Mapping[str, Any]) -> str:
    """The few numbers that most readers look for first."""
    summary = data["summary"]
    step, total = integer(summary.get("last_step")), integer(data.get("total_steps"))
    broken = summary.get("loss_broken_at") is not None
    first, last = summary.get("first_loss"), "no number" if broken else loss_text(summary.get("last_loss"))
    waiting = summary.get("waiting_share") or 0.0
    cells = [
        ("duration", compact_seconds(duration(data)), trained_for(summary)),
        ("steps", count(step), f"of {total:,}" if total else ""),
        (
            "loss",
            last,
            f"since step {count(summary['loss_broken_at'])}" if broken else f"from {loss_text(first)}",
        ),
        ("step time", seconds(summary.get("step_seconds")), f"{share(waiting)} waiting for data"),
        ("tokens/s", count(rounded(summary.get("tokens_per_second"))), "all ranks together"),
        ("memory, highest", *memory_figure(summary)),
    ]
    out = [
        f"<div><dt>{name}</dt><dd>{escape(value)}<small>{escape(more)}</small></dd></div>"
        for name, value, more in cells
        if value != MISSING
    ]
    return f'<dl class="figures">{"".join(out)}</dl>'


def rounded(value: Any) -> Optional[float]:
    found = number(value)
    return None if found is None else float(round(found))


def memory_figure(summary: Mapping[str, Any]) -> Tuple[str, str]:
    if summary.get("gpu_peak_bytes"):
        return size(summary["gpu_peak_bytes"]), "of a GPU"
    return size(summary.get("rss_peak_bytes")), "of a rank, on the host"


def trained_for(summary: Mapping[str, Any]) -> str:
    spent = number(summary.get("training_seconds"))
    return f"{seconds(spent)} of it in steps" if spent else ""


def times(data: Mapping[str, Any]) -> str:
    started, ended = moment(data.get("started_at")), moment(data.get("ended_at"))
    if ended == MISSING:
        return f"since {started}" if started != MISSING else ""
    if started[:10] == ended[:10]:
        return f"{started[:-4]} – {ended[11:]}"
    return f"{started[:-4]} – {ended}"


# ---- adapter ----


def adapter(data: Mapping[str, Any]) -> str:
    found = data["adapter"]
    if not found or (blamed(data) and state_of(data) == "failed"):  # the cause says what was saved
        return ""
    rows = [("path", f"<code>{escape(found.get('path', ''))}</code>"), ("verified", verified(found))]
    if found.get("tensors") is not None:
        rows.append(
            ("holds", f"{count(found['tensors'])} tensors, {count(found.get('parameters'))} parameters")
        )
    rows.append(("after step", count(found["step"]) if found.get("step") is not None else ""))
    rows.append(("size", size(found["bytes"]) if found.get("bytes") is not None else ""))
    for name in ("sha256", "digest"):
        if found.get(name):
            rows.append((name, f"<code>{escape(found[name])}</code>"))
    pruned = data.get("pruned") or {}
    removed = lines_of(pruned.get("removed"), 100_000)
    if removed:
        freed = f"{plural(len(removed), 'old file')} removed, {size(pruned.get('freed_bytes'))} freed"
        rows.append(("pruned", escape(freed)))
    return section("adapter", "Adapter", facts(rows))


def verified(found: Mapping[str, Any]) -> str:
    if found.get("whole") is None:
        return '<span class="warn">not verified</span>'
    if found["whole"] is False:
        return '<span class="bad-text">not whole: see the findings</span>'
    text = '<span class="good">whole</span>'
    if found.get("changed") is True:
        largest = number(found.get("max_difference"))
        by = f", its logits by up to {short(largest)}" if largest is not None else ""
        return (
            f'{text}; loaded onto its base model, it <span class="good">changes the output</span>{escape(by)}'
        )
    if found.get("changed") is False:
        return f'{text}; loaded onto its base model, it <span class="bad-text">changes nothing</span>'
    return f"{text} by its tensors; not loaded onto its base model"


# ---- findings ----


def said_block(
    verdict: str, where: str, saw: str, rows: Sequence[Tuple[str, str]], ident: str, more: str = ""
) -> str:
    """One statement in the form of every error: where and what, why, what to do."""
    inner = "".join(f"<dt>{name}</dt><dd>{value}</dd>" for name, value in rows if value)
    place_html = f'<span class="where">{escape(where)}</span>' if where else ""
    label = f'<p class="id"><span class="verdict">{CALLED[verdict]}</span> {escape(ident)}</p>'
    return (
        f'<article class="said {verdict}">{label}'
        f'<p class="saw">{place_html}{escape(saw)}</p><dl>{inner}</dl>{more}</article>'
    )


def findings(data: Mapping[str, Any]) -> str:
    """All statements, worst first. Those that are fine are only counted."""
    groups = folded(data["findings"])
    if not groups:
        return section("findings", "Findings", '<p class="none">None.</p>')
    cause, said = str((blamed(data) or {}).get("cause")), verdict_sentence(data)
    told = [g for g in groups if g.verdict == "block" and g.text("id") == cause and g.text("saw") in said]
    shown = [g for g in groups if g.verdict != "ok" and g not in told]
    summary = count_text(g for g in groups if g in shown or g.verdict == "ok")
    body = "".join(finding(group) for group in shown[:MOST_SHOWN])
    if len(shown) > MOST_SHOWN:
        body += f'<p class="note">{len(shown) - MOST_SHOWN:,} more stand in the journal.</p>'
    if not shown:
        said = "Nothing else" if cause != "None" else "Nothing to look at"
        body = f'<p class="note">{said}: {escape(summary)}.</p>'
    return section("findings", "Findings", body, summary)


def finding(group: Folded) -> str:
    evidence: List[Any] = list(group.finding.get("evidence") or ())
    more = ""
    if evidence:
        lines = "\n".join(escape(line) for line in evidence[:60])
        more = f"<details><summary>evidence</summary><pre>{lines}</pre></details>"
    rows = [("why", escape(group.text("why"))), ("fix", escape(group.text("fix")))]
    return said_block(group.verdict, group.place(), group.text("saw"), rows, group.text("id"), more)


# ---- plan ----

UNITS = {"count": count, "size": size, "seconds": seconds}


def plan(data: Mapping[str, Any]) -> str:
    rows = []
    for row in data["plan"]:
        text = UNITS[row["unit"]]
        difference = row["difference"]
        style = ' class="wrong"' if row["wrong"] else ""
        told = row["why"] or MISSING
        if difference is not None:
            told = "equal" if difference == 0 else f"{100 * difference:+.1f} %"
        rows.append(
            f'<tr{style}><th scope="row">{escape(row["what"])}</th><td>{text(row["planned"])}</td>'
            f"<td>{text(row['measured'])}</td><td>{escape(told)}</td></tr>"
        )
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{h}</th>' for h in ("", "planned", "measured", "difference"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    return section("plan", "Plan against measured", f'<div class="wrap">{table}</div>')


def run_again(state: Mapping[str, Any], *options: str) -> str:
    """The command that starts this run again: the words that were typed, or its run file; empty if neither is known.
    The options come before the `--` of a typed command."""
    typed, file = state.get("typed"), state.get("file")
    words = [str(word) for word in typed] if isinstance(typed, (list, tuple)) and typed else []
    if not words and isinstance(file, str) and file:
        words = [file]
    if not words:
        return ""
    end = words.index("--") if "--" in words else len(words)
    return " ".join(map(shlex.quote, ["allranks", "run", *words[:end], *options, *words[end:]]))
