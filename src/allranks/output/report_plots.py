"""The charts of the report and their content: data → charts. `report_charts` draws them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core.text import plural, spans
from allranks.core.untrusted import number
from allranks.output.report_bars import Bar, bars
from allranks.output.report_charts import Line, LineChart, line_chart
from allranks.output.report_heat import heat
from allranks.output.report_memory import memory_bars as memory_stacks
from allranks.output.report_parts import section, state_of
from allranks.output.report_series import median, outliers
from allranks.output.report_text import PHASES, compact_seconds, count, loss_text, seconds, share, short, size

MOST_BARS = 24
LEAD = "loss"


def lead(data: Mapping[str, Any]) -> str:
    """The loss, and beside it the gradient norm if it was reported: readers look for these first."""
    if not trained(data):
        return ""
    norm = data["charts"]["gradient_norm"]["points"]
    drawn = line_chart(loss(data), wide=not norm) + (line_chart(gradient_norm(data)) if norm else "")
    return f'<section id="{LEAD}" class="lead"><div class="charts">{drawn}</div></section>'


def trained(data: Mapping[str, Any]) -> bool:
    return any(row.get("starts") for row in data["ranks"]) or bool(data["charts"]["step"]["ranks"])


def charts(data: Mapping[str, Any]) -> str:
    """The other charts of the training; a sentence if no rank ever sent a heartbeat."""
    if not trained(data):
        return section("charts", "Training", '<p class="none">No rank started, so nothing was measured.</p>')
    drawn = [
        line_chart(learning_rate(data)),
        line_chart(tokens(data)) if data["charts"]["tokens"] else "",
        heat(data),
        line_chart(step_time(data)),
        step_bars(data),
        memory_stacks(data),
        line_chart(memory(data)),
        memory_bars(data),
    ]
    return section("charts", "Training", f'<div class="charts">{"".join(drawn)}</div>')


def phases(data: Mapping[str, Any]) -> str:
    """The run's phases as bars on one time axis. The ranks' own phases are below the phase that they belong to."""
    rows = data["phases"]
    if not rows:
        return ""
    start = rows[0]["at"]
    whole = max(max(p["at"] + max(p.get("seconds") or 0.0, 0.0) for p in rows) - start, 1e-9)
    found = []
    for row in rows[:200]:
        style = "train" if row["phase"] == "watch" else ""
        spent = max(row.get("seconds") or 0.0, 0.0)
        name = PHASES.get(row["phase"]) or str(row["phase"])
        found.append(phase_bar(name, row["at"] - start, spent, whole, style, str(row.get("why") or "")))
        if row["phase"] == "watch":
            found += rank_phase_bars(data, start, whole)
    moments = [event["at"] for event in data["story"]["events"]]
    inside = sorted({round((at - start) / whole, 3) for at in moments if start <= at <= start + whole})
    if inside:
        found.append(Bar("events", 0.0, count(len(moments)), ticks=inside))
    heads = ("phase", f"0 to {compact_seconds(whole)}", "took", "why")
    table = bars("", heads if any(bar.more for bar in found) else heads[:3], found)
    return section("phases", "Phases", table)


def phase_bar(name: str, begin: float, spent: float, whole: float, style: str, why: str = "") -> Bar:
    start = min(max(begin / whole, 0.0), 1.0)
    return Bar(name, min(spent / whole, 1.0 - start), seconds(spent), start, style=style, more=why)


def rank_phase_bars(data: Mapping[str, Any], start: float, whole: float) -> List[Bar]:
    """The phases of the ranks: each bar goes from the first event of any rank in a phase to the last one.

    The seconds are those of the median rank in that phase. Ranks may save several times, so the bar of saving is
    longer than its seconds.
    """
    heard = sorted((span[0], name, span) for name, span in data["rank_phases"].items() if name != "done")
    found = []
    for begin, name, span in heard:
        bar = phase_bar(f"\u2007ranks: {name}", begin - start, max(span[1] - begin, 0.0), whole, "calm")
        found.append(replace(bar, text=seconds(span[2])))
    return found if len(found) > 1 else []


# ---- lines ----


def marks(data: Mapping[str, Any]) -> List[Tuple[float, str, str]]:
    """Saved checkpoints, and the step at which the guilty rank was last heard."""
    found = [(float(m["step"]), "", "saved") for m in data["marks"]]
    where = (data.get("diagnosis") or {}).get("where") or {}
    rank = where.get("rank")
    steps = {row["rank"]: row.get("step") for row in data["ranks"]}
    if rank is not None and number(steps.get(rank)) is not None and state_of(data) == "failed":
        found.append((float(steps[rank]), f"rank {rank}’s last step", "end"))
    return found


def loss(data: Mapping[str, Any]) -> LineChart:
    found = data["charts"]["loss"]
    points = found["points"]
    summary = data["summary"]
    ends = [loss_text(summary[name]) for name in ("first_loss", "last_loss") if summary[name] is not None]
    note = f"{' → '.join(ends)}, {whose(found['ranks'])}" if ends else ""
    if summary["loss_broken_at"] is not None:
        note = f"no finite number since step {count(summary['loss_broken_at'])}"
    lines = [Line("loss", points)] if points else []
    return LineChart("loss", "Loss", short, lines, note=note, bad=found["bad"], marks=marks(data))


def gradient_norm(data: Mapping[str, Any]) -> LineChart:
    found = data["charts"]["gradient_norm"]
    points = found["points"]
    note = f"highest {short(max(p[4] for p in points))}, last {short(points[-1][2])}"
    lines = [Line("gradient norm", points)]
    return LineChart("norm", "Gradient norm", short, lines, note=note, from_zero=True, bad=found["bad"])


def whose(ranks: Sequence[int]) -> str:
    return f"as rank {ranks[0]} reported it" if len(ranks) == 1 else f"mean of {len(ranks):,} ranks"


def learning_rate(data: Mapping[str, Any]) -> LineChart:
    found = data["charts"]["learning_rate"]
    points = found["points"]
    note = f"highest {short(max(p[4] for p in points))}, last {short(points[-1][2])}" if points else ""
    lines = [Line("learning rate", points)] if points else []
    return LineChart("rate", "Learning rate", short, lines, note=note, from_zero=True, bad=found["bad"])


def step_time(data: Mapping[str, Any]) -> LineChart:
    found = data["charts"]["step"]
    lines = rank_lines(found)
    waiting = data["charts"]["waiting"]
    if waiting:
        lines.append(Line("waiting for data, mean of ranks", waiting, "wait"))
    summary = data["summary"]
    note = ""
    if summary["step_seconds"] is not None:
        note = f"{seconds(summary['step_seconds'])} typically"
        if summary["waiting_share"] is not None:
            note += f", {share(summary['waiting_share'])} of it waiting for data"
    return LineChart(
        "step", "Step time", axis_seconds, lines, found["bands"], note, from_zero=True, marks=marks(data)
    )


def tokens(data: Mapping[str, Any]) -> LineChart:
    points = data["charts"]["tokens"]
    lines = [Line("tokens/s", points)] if points else []
    rate = data["summary"]["tokens_per_second"]
    note = f"{count(float(round(rate)))} over the whole training" if rate else ""
    return LineChart("tokens", "Tokens per second, all ranks", axis_count, lines, note=note, from_zero=True)


def memory(data: Mapping[str, Any]) -> LineChart:
    """The memory over time, because it shows a leak and the load of the model; with the GPU's memory if one was
    reported."""
    kind = "gpu" if data["charts"]["memory"]["gpu"]["ranks"] else "rss"
    found = data["charts"]["memory"][kind]
    planned = number(data["memory_plan"]["gpu"]) if kind == "gpu" else None
    return LineChart(
        "memory",
        "GPU memory in use, by time" if kind == "gpu" else "Host memory, by time",
        axis_size,
        rank_lines(found),
        found["bands"],
        far_note(found),
        x_name="",
        x_text=compact_seconds,
        from_zero=True,
        level=(planned, f"planned {size(planned)}") if planned else None,
        binary=True,
    )


def rank_lines(found: Mapping[str, Any]) -> List[Line]:
    ranks = sorted(int(rank) for rank in found["lines"])
    first = 1 if found["bands"] else 0
    return [Line(f"rank {r}", found["lines"][str(r)], f"s{(first + i) % 8}") for i, r in enumerate(ranks)]


def far_note(found: Mapping[str, Any]) -> str:
    far = found["outliers"]
    return f"far above the others: rank {spans(far)}" if far else ""


def axis_seconds(value: float) -> str:
    return f"{value:.3g} s" if abs(value) < 60 else seconds(value)


def axis_size(value: float) -> str:
    return size(value).replace(".00 ", " ").replace(".0 ", " ")


def axis_count(value: float) -> str:
    return count(float(round(value))) if abs(value) >= 10 else short(value)


# ---- bars ----


def step_bars(data: Mapping[str, Any]) -> str:
    rows = [row for row in data["ranks"] if row.get("step_seconds") is not None]
    if not rows:
        return ""
    waited = {
        row["rank"]: row["waiting_share"] * row["step_seconds"] for row in rows if row.get("waiting_share")
    }
    far = set(outliers({row["rank"]: row["step_seconds"] for row in rows}) + outliers(waited))
    top = max(row["step_seconds"] for row in rows)
    found = [
        Bar(
            rank_name(row),
            row["step_seconds"] / top if top else 0.0,
            seconds(row["step_seconds"]),
            inner=min(row["waiting_share"] or 0.0, 1.0),
            more=share(row["waiting_share"]).replace(" ", "\u00a0")
            if row["waiting_share"] is not None
            else "",
            style="far" if row["rank"] in far else "",
        )
        for row in ordered(rows, lambda row: (row["rank"] in far, waited.get(row["rank"], 0.0)))
    ]
    return chart_of(
        "step-by-rank", "Median step time by rank, and its share of waiting for data", found, rows
    )


def memory_bars(data: Mapping[str, Any]) -> str:
    name = "gpu_peak_bytes" if any(row.get("gpu_peak_bytes") for row in data["ranks"]) else "rss_bytes"
    rows = [row for row in data["ranks"] if row.get(name)]
    if not rows:
        return ""
    planned = number(data["memory_plan"]["gpu"]) if name == "gpu_peak_bytes" else None
    top = max([row[name] for row in rows] + ([planned] if planned else []))
    middle = median(row[name] for row in rows) or 0.0
    far = set(outliers({row["rank"]: row[name] for row in rows}))
    found = [
        Bar(rank_name(row), row[name] / top, size(row[name]), style="far" if row["rank"] in far else "")
        for row in ordered(rows, lambda row: abs(row[name] - middle))
    ]
    what = "GPU memory, peak, by rank" if name == "gpu_peak_bytes" else "Host memory, peak, by rank"
    if planned:
        what += f"; the stroke is the plan, {size(planned)}"
    return chart_of("memory-by-rank", what, found, rows, planned / top if planned else None)


def ordered(rows: List[Dict[str, Any]], badness: Any) -> List[Dict[str, Any]]:
    """All ranks if they fit; otherwise those farthest from the others, again in the order of ranks."""
    if len(rows) <= MOST_BARS:
        return rows
    return sorted(sorted(rows, key=badness, reverse=True)[:MOST_BARS], key=lambda row: row["rank"])


def rank_name(row: Mapping[str, Any]) -> str:
    node = row.get("node")
    return f"{row['rank']} · {node}" if node is not None else str(row["rank"])


def chart_of(
    ident: str, caption: str, found: List[Bar], rows: List[Any], level: Optional[float] = None
) -> str:
    left = len(rows) - len(found)
    note = (
        f'<p class="note">{plural(left, "other rank")} nearer to the middle: see Ranks.</p>' if left else ""
    )
    heads = (
        ("rank", "", "value", "waiting for data") if any(bar.more for bar in found) else ("rank", "", "value")
    )
    return f'<figure class="chart" id="chart-{ident}">{bars(caption, heads, found, level)}{note}</figure>'
