"""The ranks in the live view: all ranks if they fit, else those that differ from the others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from rich.cells import cell_len
from rich.text import Text

from allranks.core.node_events import GpuSample
from allranks.core.text import plural
from allranks.monitor import Progress, RankProgress
from allranks.output.console import Out
from allranks.output.report_series import outliers
from allranks.output.report_text import count, seconds, share, size

SILENT_SECONDS = 15.0
"""A rank sends an event every second; a node may normally be late by some seconds."""

BEHIND_SECONDS = 5.0
"""Heartbeats come once per second, but not at the same moment. Two ranks may be in step although their heartbeats
differ by the steps of so many seconds."""

ENDED = 6
"""The weight of a rank that failed."""

IDLE_PERCENT, BUSY_PERCENT = 5.0, 50.0
HEADS = ("rank", "node", "step", "step time", "own work", "for data", "GPU", "", "memory", "")
NOTE = len(HEADS) - 1
LEFT = (0, 1, NOTE)


@dataclass(frozen=True)
class RankLine:
    """One rank. `note` says how it differs, and `weight` how much that matters (0: it does not differ)."""

    rank: int
    cells: tuple[str, ...]
    note: str = ""
    weight: int = 0


def rank_lines(progress: Progress, gpus: Mapping[int, GpuSample]) -> list[RankLine]:
    """One line per rank, in the order of ranks."""
    notes = differences(progress, gpus)
    found = []
    for number, rank in progress.ranks.items():
        note, weight = notes.get(number, ("", 0))
        found.append(RankLine(number, cells(rank, gpus.get(number)), note, weight))
    return found


def cells(rank: RankProgress, gpu: GpuSample | None) -> tuple[str, ...]:
    waits = None
    if rank.step_seconds and rank.data_seconds is not None:
        waits = min(rank.data_seconds / rank.step_seconds, 1.0)
    busy, hot = (gpu.utilization, gpu.temperature) if gpu is not None else (None, None)
    memory = rank.gpu_bytes or rank.rss_bytes
    return (
        str(rank.rank),
        rank.node or "",
        "" if rank.step is None else count(rank.step),
        "" if rank.step_seconds is None else seconds(rank.step_seconds),
        "" if rank.own_seconds is None else seconds(rank.own_seconds),
        "" if waits is None else share(waits),
        "" if busy is None else f"{busy:.0f} %",
        "" if hot is None else f"{hot:.0f} °C",
        "" if memory is None else size(memory),
    )


Notes = dict[int, tuple[str, int]]


def differences(progress: Progress, gpus: Mapping[int, GpuSample]) -> Notes:
    """How single ranks differ from most ranks. If there are several reasons, the most important one is shown."""
    found: Notes = {}
    for number, rank in progress.ranks.items():
        if rank.code not in (None, 0):
            code = rank.code or 0
            found[number] = (f"ended by signal {-code}" if code < 0 else f"exit code {code}", ENDED)
    alive = {n: r for n, r in progress.ranks.items() if r.code is None}
    for more in (
        silent(alive),
        behind(alive),
        slowest(alive),
        elsewhere(alive),
        idle(alive, gpus),
        hungry(alive),
    ):
        for number, note in more.items():
            found.setdefault(number, note)
    return found


def silent(ranks: Mapping[int, RankProgress]) -> Notes:
    late = {
        n: r.beat_age_seconds or 0.0 for n, r in ranks.items() if (r.beat_age_seconds or 0.0) > SILENT_SECONDS
    }
    return {n: (f"not heard for {seconds(age)}", 5) for n, age in late.items()}


def behind(ranks: Mapping[int, RankProgress]) -> Notes:
    steps = {n: r.step for n, r in ranks.items() if r.step is not None and r.phase == "training"}
    paces = [r.step_seconds for r in ranks.values() if r.step_seconds]
    if len(steps) < 2 or not paces:
        return {}
    front, allowed = max(steps.values()), max(1.0, BEHIND_SECONDS / median(paces))
    late = {n: front - step for n, step in steps.items() if front - step > allowed}
    return {n: (f"{plural(steps_behind, 'step')} behind", 4) for n, steps_behind in late.items()}


def slowest(ranks: Mapping[int, RankProgress]) -> Notes:
    """The slowest ranks, by the work that a rank does alone before it meets the others: their steps are equally
    long."""
    own = {n: r.own_seconds for n, r in ranks.items() if r.own_seconds is not None}
    waits = {n: r.data_seconds for n, r in ranks.items() if r.data_seconds is not None}
    paces = [r.step_seconds for r in ranks.values() if r.step_seconds]
    for figures, what in ((own, "own work"), (waits, "for data")):
        far = outliers(figures)[:1]
        if far and paces and figures[far[0]] - median(figures.values()) > 0.1 * median(paces):
            said = f"slowest: {seconds(figures[far[0]])} {what}, most {seconds(median(figures.values()))}"
            return {far[0]: (said, 3)}
    return {}


def elsewhere(ranks: Mapping[int, RankProgress]) -> Notes:
    """The ranks that are in another phase than most of the others."""
    phases = Counter(r.phase for r in ranks.values() if r.phase)
    if len(phases) < 2:
        return {}
    usual, amount = phases.most_common(1)[0]
    if amount < 0.75 * len(ranks):
        return {}
    odd = {n: r.phase for n, r in ranks.items() if r.phase and r.phase != usual}
    return {n: (f"{phase}, most are {usual}", 2) for n, phase in odd.items()}


def idle(ranks: Mapping[int, RankProgress], gpus: Mapping[int, GpuSample]) -> Notes:
    used = {n: g.utilization for n, g in gpus.items() if n in ranks and g.utilization is not None}
    if len(used) < 2 or median(used.values()) < BUSY_PERCENT:
        return {}
    return {n: (f"GPU {busy:.0f} % busy", 2) for n, busy in used.items() if busy < IDLE_PERCENT}


def hungry(ranks: Mapping[int, RankProgress]) -> Notes:
    held = {n: float(r.gpu_bytes or r.rss_bytes or 0) for n, r in ranks.items() if r.gpu_bytes or r.rss_bytes}
    usual = median(held.values()) if held else 0.0
    return {n: (f"memory {size(held[n])}, most have {size(usual)}", 1) for n in outliers(held)}


# ---- the table ----


def drawn(out: Out, lines: Sequence[RankLine], room: int) -> list[Text]:
    """A table of at most `room` lines: all ranks, or those that differ, the worst first."""
    if not lines:
        return []
    if len(lines) < room:
        return table(out, lines, NOTE)
    odd = sorted((line for line in lines if line.weight), key=lambda line: (-line.weight, line.rank))
    shown = odd[: max(room - 2, 0)]
    if not shown:
        return []
    rest = f"; the first {len(shown)}" if len(odd) > len(shown) else ""
    said = f"{len(odd):,} of {plural(len(lines), 'rank')} {'differs' if len(odd) == 1 else 'differ'}{rest}:"
    return [out.text(("  " + said, "dim")), *table(out, shown, 2)]


def table(out: Out, lines: Sequence[RankLine], note_at: int) -> list[Text]:
    """The lines below their heads, without columns that have no value; `note_at` is the column of the note."""
    rows = [(HEADS, None), *(((*line.cells, f"◂ {line.note}" if line.note else ""), line) for line in lines)]
    texts = [([out.fit(cell) for cell in row], line) for row, line in rows]
    widths = [max(cell_len(row[i]) for row, _ in texts) for i in range(len(HEADS))]
    used = [i for i in range(NOTE) if any(row[i] for row, line in texts if line is not None)]
    used.insert(min(note_at, len(used)), NOTE)
    found = []
    for row, line in texts:
        text = out.text("  ")
        for i in used:
            of_note = "bold red" if line is not None and line.weight > 4 else "yellow"
            style = "dim" if line is None else of_note if i == NOTE else ""
            cell = row[i] if i in LEFT else " " * (widths[i] - cell_len(row[i])) + row[i]
            part = out.text((cell, style))
            part.pad_right(widths[i] - cell_len(part.plain) + 2)
            text.append_text(part)
        text.rstrip()
        found.append(text)
    return found
