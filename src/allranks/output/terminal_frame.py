"""The live area, as a pure function of the run's state and the width. It uses no cursor and no clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from rich.cells import cell_len
from rich.text import Text

from allranks.core.node_events import GpuSample
from allranks.core.text import fold, plural, spans
from allranks.monitor import Progress, RankProgress
from allranks.monitor.progress import PHASES as RANK_PHASES
from allranks.output.console import Out
from allranks.output.report_series import LARGEST
from allranks.output.report_text import PHASES, compact_seconds, count, loss_text, seconds, share, short, size
from allranks.output.terminal_ranks import RankLine, drawn

SPINNER, SPINNER_ASCII = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
BLOCKS, BLOCKS_ASCII = "▁▂▃▄▅▆▇█", "_.-=^"
MOST_NODES = 12
"""If there are more nodes, equal ones share a line: thirty equal lines would push everything else off the screen."""

Row = tuple[str, str, str]
"""Title, text, style."""

USUAL = {"deepspeed_shm_comm": "1 to 3 min", "cpu_adam": "1 to 3 min"}
"""The usual time to compile the operators of a run without a GPU, on a free core. Measured (x86-64, g++, torch 2.13,
DeepSpeed 0.19): 58 s and 133 s of processor time; with eleven processes on two cores it was 139 s and 624 s."""

BEFORE_STEPS = ("checking", "preparing", "probing", "starting", "importing", "loading")


@dataclass(frozen=True)
class NodeLine:
    """One node, or several equal ones: the work of its ranks, their steps, the most memory of a rank."""

    names: tuple[str, ...]
    state: str
    ranks: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    memory_bytes: float | None = None
    memory_kind: str = ""
    bad: bool = False
    gpu: str = ""
    note: str = ""
    """How its only rank differs from the others."""


@dataclass(frozen=True)
class Snapshot:
    """The input of one frame. `shards` is (read, all) of the rank furthest behind."""

    name: str = ""
    phase: str = ""
    state: str = ""
    progress: Progress = field(default_factory=Progress)
    losses: Sequence[float] = ()
    shards: tuple[int, int] | None = None
    elapsed_seconds: float = 0.0
    nodes: Sequence[NodeLine] = ()
    ended: bool = False
    run_id: str = ""
    gpus: Sequence[tuple[str, GpuSample]] = ()
    """All GPUs in the last samples, each with the name of its place."""
    ranks: Sequence[RankLine] = ()
    saved: str = ""
    base_bytes: str = ""
    """How much of the base model the ranks have read."""
    warnings: str = ""
    last_line: str = ""
    hint: str = ""
    """The present effect of Ctrl-C."""


def doing(snapshot: Snapshot) -> str:
    """The phase in a word. While the ranks run, it is their own phase."""
    if snapshot.phase == "watch" and snapshot.progress.phase:
        if snapshot.progress.phase == "compiling" and snapshot.progress.operator:
            return compiling(snapshot.progress.operator, snapshot.progress.operator_waits)
        return {"done": "ending"}.get(snapshot.progress.phase, snapshot.progress.phase)
    if snapshot.phase == "watch":
        return "starting"  # no rank has been heard yet
    return PHASES.get(snapshot.phase, snapshot.phase or "starting")


def compiling(operator: str, waits: bool = False) -> str:
    """The name of the operator that is compiled, with its usual time if it was measured; or a note that another
    process compiles it."""
    if waits:
        return f"waiting for another process that compiles {operator}"
    usual = USUAL.get(operator)
    return f"compiling {operator}" + (f" (usually {usual})" if usual else "")


def frame(out: Out, snapshot: Snapshot, tick: float = 0.0, height: int = 100) -> list[Text]:
    """The lines of the live area: none is wider than the terminal, and there are at most `height`. `tick` (seconds)
    turns the spinner."""
    lines = [head(out, snapshot, tick)]
    figures = [
        *run_row(snapshot),
        ("base", snapshot.base_bytes, ""),
        *figure_rows(out, snapshot),
        *more_rows(snapshot),
    ]
    for title, text, style in [(title, text, style) for title, text, style in figures if text]:
        lines.append(out.text("  ", (f"{title:<6}", "dim"), (text, style)))
    last = [out.text("  ", ("log   ", "dim"), snapshot.last_line)] if snapshot.last_line else []
    last += [out.text("  ", (snapshot.hint, "dim"))] if snapshot.hint and not snapshot.ended else []
    nodes = node_lines(out, snapshot.nodes)
    room = height - len(lines) - len(nodes) - len(last)
    is_said = len(snapshot.ranks) <= len(snapshot.nodes) <= MOST_NODES  # each rank's node has its own line
    lines += [*nodes, *([] if is_said else drawn(out, snapshot.ranks, room)), *last]
    del lines[max(height, 1) :]
    for line in lines:
        line.truncate(out.width, overflow="ellipsis" if not out.ascii else "crop")
    return lines


def run_row(snapshot: Snapshot) -> list[Row]:
    """The run's name, its nodes and ranks, and how long it has been running."""
    if not snapshot.run_id:
        return []
    ranks = snapshot.progress.world_size or len(snapshot.progress.ranks)
    nodes = sum(len(node.names) for node in snapshot.nodes)
    parts = [snapshot.run_id, plural(nodes, "node") if nodes else "", plural(ranks, "rank") if ranks else ""]
    parts.append(compact_seconds(snapshot.elapsed_seconds) + (" in all" if snapshot.ended else " so far"))
    return [("run", "  ".join(part for part in parts if part), "")]


def more_rows(snapshot: Snapshot) -> list[Row]:
    """GPUs, the newest save, and the warnings so far."""
    rows = [("GPUs", gpu_row(snapshot.gpus), ""), ("saved", snapshot.saved, "")]
    return [*rows, ("warn", snapshot.warnings, "yellow")]


def gpu_row(gpus: Sequence[tuple[str, GpuSample]]) -> str:
    """`96 % busy, 66 °C, 312 W; least busy 2 % (node-1 GPU 2); hottest 84 °C (node-1 GPU 3)`; for several GPUs,
    medians."""
    busy = [(gpu.utilization, place) for place, gpu in gpus if gpu.utilization is not None]
    hot = [(gpu.temperature, place) for place, gpu in gpus if gpu.temperature is not None]
    watts = [gpu.power_watts for _, gpu in gpus if gpu.power_watts is not None]
    parts = [f"{median(b for b, _ in busy):.0f} % busy"] if busy else []
    parts += [f"{median(h for h, _ in hot):.0f} °C"] if hot else []
    parts += [f"{median(watts):.0f} W"] if watts else []
    said = ("median " if len(gpus) > 1 and parts else "") + ", ".join(parts)
    if len(gpus) > 1:
        said += f"; least busy {min(busy)[0]:.0f} % ({min(busy)[1]})" if busy else ""
        said += f"; hottest {max(hot)[0]:.0f} °C ({max(hot)[1]})" if hot else ""
    return said


def head(out: Out, snapshot: Snapshot, tick: float) -> Text:
    """Spinner, phase, progress, the bar, and the time left."""
    mark, style = mark_of(out, snapshot, tick)
    line = out.text((mark, style), " ", (snapshot.state if snapshot.ended else doing(snapshot), "bold"))
    done, total, what = extent(snapshot)
    left = snapshot.progress.seconds_left
    show_left = what == "step" and left is not None and not snapshot.ended and snapshot.phase == "watch"
    tail = f"{compact_seconds(left)} left" if show_left else compact_seconds(snapshot.elapsed_seconds)
    if done is None:
        return (
            out.text(line.plain, "  ", (tail, "dim"))
            if not line.spans
            else joined(line, out.text("  ", (tail, "dim")))
        )
    line.append(out.fit(f"  {what} {count(done)}" + (f" of {count(total)}" if total else "")))
    room = out.width - cell_len(line.plain) - len(tail) - 2
    if total and room >= 8:
        line.append(f"  {min(100 * done // total, 100):>3} %")
    if total and room >= 20:
        line = joined(joined(line, Text("  ")), bar(out, done / total, min(room - 10, 44)))
    return joined(line, out.text("  ", (tail, "dim")))


def joined(first: Text, second: Text) -> Text:
    first.append_text(second)
    return first


def mark_of(out: Out, snapshot: Snapshot, tick: float) -> tuple[str, str]:
    if snapshot.ended:
        good = snapshot.state == "succeeded"
        return ("+" if good else "x") if out.ascii else ("✓" if good else "✗"), "green" if good else "red"
    turns = SPINNER_ASCII if out.ascii else SPINNER
    return turns[int(tick * 10) % len(turns)], "cyan"


def extent(snapshot: Snapshot) -> tuple[int | None, int | None, str]:
    """The progress and its goal: shards while a model loads, steps from the first one on."""
    if doing(snapshot) == "loading" and snapshot.shards is not None:
        return (*snapshot.shards, "shard")
    step, total = snapshot.progress.step, snapshot.progress.total_steps
    if doing(snapshot) in BEFORE_STEPS or (not step and not total):
        return None, None, "step"
    return step or 0, total, "step"


def bar(out: Out, part: float, width: int) -> Text:
    part = min(max(part, 0.0), 1.0)
    full = int(part * width)
    if out.ascii:
        return Text("=" * full + "-" * (width - full))
    half = "╸" if full < width and part * width - full >= 0.5 else ""
    line = Text("━" * full + half, style="cyan")
    line.append("─" * (width - full - len(half)), style="dim")
    return line


def figure_rows(out: Out, snapshot: Snapshot) -> list[Row]:
    """Loss with its course, learning rate, gradient norm; step time with the share of waiting, speed."""
    progress = snapshot.progress
    loss = ""
    if progress.loss is not None:
        course = sparkline(snapshot.losses, min(32, max(out.width - 34, 8)), out.ascii)
        loss = f"{loss_text(progress.loss):<8}{course}"
        if progress.learning_rate is not None and out.width >= 64:
            loss += f"  lr {short(progress.learning_rate)}"
        if progress.gradient_norm is not None and out.width >= 90:
            loss += f"  gradient norm {short(progress.gradient_norm)}"
    step = ""
    if progress.step_seconds is not None:
        step = seconds(progress.step_seconds)
        if progress.data_seconds is not None and progress.step_seconds > 0:
            step += f", {share(min(progress.data_seconds / progress.step_seconds, 1.0))} waiting for data"
        if progress.tokens_per_second and out.width >= 64:
            step += f"  {count(float(round(progress.tokens_per_second)))} tokens/s"
    return [("loss", loss, ""), ("step", step, "")]


def sparkline(values: Sequence[float], width: int, plain: bool = False) -> str:
    """The values as blocks, from the lowest to the highest; `!` for a value that was not a finite number."""
    if len(values) < 2 or width < 2:
        return ""
    size_of = max(1, math.ceil(len(values) / width))
    groups = [values[i : i + size_of] for i in range(0, len(values), size_of)]
    finite = [v for v in values if fine(v)]
    low, high = (min(finite), max(finite)) if finite else (0.0, 0.0)
    blocks = BLOCKS_ASCII if plain else BLOCKS
    out = []
    for group in groups:
        good = [v for v in group if fine(v)]
        if len(good) < len(group):
            out.append("!")
            continue
        part = (sum(good) / len(good) - low) / (high - low) if high > low else 0.5
        out.append(blocks[min(int(part * len(blocks)), len(blocks) - 1)])
    return "".join(out)


def fine(value: float) -> bool:
    return math.isfinite(value) and abs(value) < LARGEST


# ---- nodes ----


def node_lines(out: Out, nodes: Sequence[NodeLine]) -> list[Text]:
    """One line per node, in columns. If many are folded, nodes with trouble come first."""
    if not nodes:
        return []
    shown = nodes if len(nodes) <= MOST_NODES else fold_nodes(nodes)
    rows = [(tuple(out.text(cell).plain for cell in cells(node)), node.bad) for node in shown]
    widths = [max(cell_len(row[i]) for row, _ in rows) for i in range(7)]
    widths[0] = min(widths[0], max(out.width // 3, 12))
    lines = []
    for row, bad in rows:
        line = out.text("  ")
        for i, cell in enumerate(row):
            if not widths[i]:
                continue
            text = out.text((cell, "bold red" if bad and i == 1 else STYLES[i]))
            text.truncate(widths[i], overflow="ellipsis" if not out.ascii else "crop", pad=i < 6)
            line.append_text(text)
            line.append("  ")
        line.rstrip()
        lines.append(line)
    return lines


STYLES = ("", "", "dim", "dim", "dim", "dim", "yellow")


def cells(node: NodeLine) -> tuple[str, ...]:
    """Name, state, ranks, step, memory, GPUs, note."""
    steps = spans(node.steps) if len(set(node.steps)) <= 1 else f"{min(node.steps)}-{max(node.steps)}"
    rank_text = f"rank {spans(node.ranks)}" if len(node.ranks) == 1 else f"ranks {spans(node.ranks)}"
    if len(rank_text) > 24:
        rank_text = plural(len(node.ranks), "rank")
    memory = f"{size(node.memory_bytes)} {node.memory_kind}".strip() if node.memory_bytes else ""
    ranks, step = rank_text if node.ranks else "", f"step {steps}" if steps else ""
    return fold(node.names), node.state, ranks, step, memory, node.gpu, f"◂ {node.note}" if node.note else ""


def fold_nodes(nodes: Iterable[NodeLine]) -> list[NodeLine]:
    """Nodes in the same state become one line. The bad ones come first, then the largest group."""
    groups: dict[tuple[str, bool], list[NodeLine]] = {}
    for node in nodes:
        groups.setdefault((node.state, node.bad), []).append(node)
    folded = [
        NodeLine(
            names=tuple(name for node in group for name in node.names),
            state=state,
            ranks=tuple(rank for node in group for rank in node.ranks),
            steps=tuple(step for node in group for step in node.steps),
            memory_bytes=max((n.memory_bytes for n in group if n.memory_bytes is not None), default=None),
            memory_kind=next((n.memory_kind for n in group if n.memory_kind), ""),
            bad=bad,
        )
        for (state, bad), group in groups.items()
    ]
    return sorted(folded, key=lambda node: (not node.bad, -len(node.names)))[:MOST_NODES]


def node_line(
    name: str,
    ranks: Mapping[int, RankProgress],
    trouble: str = "",
    waiting: str = "",
    gpus: Sequence[GpuSample] = (),
    note: str = "",
) -> NodeLine:
    """One node, from its ranks. `trouble` comes from its supervisor (lost); `waiting` is shown before any rank is
    heard."""
    gone = [r for r in ranks.values() if r.code not in (None, 0)]
    behind = min((r.phase or "" for r in ranks.values()), key=order, default="")
    ended = bool(ranks) and all(r.code == 0 for r in ranks.values())
    state = (
        trouble
        or "; ".join(ended_text(r) for r in gone[:2])
        or ("ended well" if ended else behind or waiting)
    )
    held = [r.gpu_bytes for r in ranks.values() if r.gpu_bytes]
    host = [r.rss_bytes for r in ranks.values() if r.rss_bytes]
    return NodeLine(
        names=(name,),
        state=state,
        ranks=tuple(sorted(ranks)),
        steps=tuple(r.step for r in ranks.values() if r.step),
        memory_bytes=max(held or host, default=None),
        memory_kind="of a GPU" if held else "",
        bad=bool(gone or trouble),
        gpu=gpu_text(gpus),
        note=note,
    )


def gpu_text(gpus: Sequence[GpuSample]) -> str:
    """`GPUs 97 %  74 °C`: the median use, and the hottest."""
    busy = [gpu.utilization for gpu in gpus if gpu.utilization is not None]
    hot = [gpu.temperature for gpu in gpus if gpu.temperature is not None]
    parts = [f"{median(busy):.0f} %"] if busy else []
    parts += [f"{max(hot):.0f} °C"] if hot else []
    return f"{'GPU' if len(gpus) == 1 else 'GPUs'} {'  '.join(parts)}" if parts else ""


def order(phase: str) -> int:
    return RANK_PHASES.index(phase) if phase in RANK_PHASES else len(RANK_PHASES)


def ended_text(rank: RankProgress) -> str:
    code = rank.code or 0
    return f"rank {rank.rank} " + (f"ended by signal {-code}" if code < 0 else f"exit code {code}")
