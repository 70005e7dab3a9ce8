"""The output of `allranks top`: all followed runs, and all their nodes. Pure: no cursor, no clock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from allranks.core.node_events import Sample
from allranks.core.run_states import FINAL
from allranks.core.text import natural, plural
from allranks.monitor import Progress, RunState
from allranks.monitor.progress import progress_of
from allranks.monitor.rank_records import NodeState
from allranks.output.console import Out
from allranks.output.metrics import Followed
from allranks.output.report_text import compact_seconds, count, loss_text, seconds, share, size
from allranks.output.table import STATE_STYLES
from allranks.output.terminal_frame import Snapshot, doing

RUN_HEADS = ("run", "does", "step", "", "loss", "step time", "left", "nodes", "ranks", "warnings")
NODE_HEADS = ("node", "of the run", "ranks", "CPU", "memory free", "network in", "GPUs busy", "hottest", "")


@dataclass(frozen=True)
class NodeRow:
    """A node of a run. The rows with the smallest `calm` need attention first."""

    name: str
    cells: tuple[str, ...]
    calm: float
    bad: bool = False


def as_json(followed: Sequence[Followed]) -> dict[str, Any]:
    """The same data as one document: numbers, not texts."""
    runs = []
    for one in followed:
        with one.lock:
            now = progress_of(one.run)
            nodes = [node_json(node, one.run) for node in one.run.nodes.values()]
            runs.append(
                {
                    "id": one.id,
                    "name": one.name,
                    "reached": one.reached,
                    "state": one.state,
                    "phase": now.phase or one.run.phase,
                    "step": now.step,
                    "total_steps": now.total_steps,
                    "loss": now.loss,
                    "step_seconds": now.step_seconds,
                    "seconds_left": now.seconds_left,
                    "ranks": len(one.run.ranks),
                    "nodes": nodes,
                    "findings": dict(one.severities),
                }
            )
    return {"runs": runs}


def node_json(node: NodeState, run: RunState) -> dict[str, Any]:
    sample = node.sample
    return {
        "node": node.name,
        "lost": node.lost_at is not None,
        "ranks": sorted(rank.rank for rank in run.ranks.values() if rank.node == node.name),
        "cpu_busy": sample.cpu.busy if sample.cpu is not None else None,
        "memory_available_bytes": sample.memory_available_bytes,
        "received_bytes_per_second": received(sample),
        "gpus": [
            {
                "index": g.index,
                "utilization": g.utilization,
                "temperature": g.temperature,
                "power_watts": g.power_watts,
            }
            for g in node.gpus
        ],
    }


def frame(out: Out, followed: Sequence[Followed], height: int = 100) -> list[Text]:
    """Both tables. If there are many nodes, it shows those that need attention and counts the others."""
    if not followed:
        return [out.text("No run is active. Start one: allranks run FILE")]
    runs, nodes = [], []
    for one in followed:
        with one.lock:
            runs.append(run_row(one))
            nodes += [node_row(one, node) for node in one.run.nodes.values()]
    lines = table(out, RUN_HEADS, runs)[: max(height, 1)]
    room = height - len(lines) - 3
    if nodes and room > 0:
        lines += [out.text(""), *table(out, NODE_HEADS, *shown(nodes, room))]
        left = len(nodes) - room
        if left > 0:
            lines.append(out.text((f"{plural(left, 'other node')}: busier, with more free memory", "dim")))
    for line in lines if out.live else ():
        line.truncate(out.width, overflow="crop" if out.ascii else "ellipsis")
    return lines


def shown(nodes: list[NodeRow], room: int) -> tuple[list[tuple[str, ...]], list[str]]:
    """The rows that fit, in the order of nodes, and their styles."""
    kept = sorted(
        sorted(nodes, key=lambda node: (not node.bad, node.calm))[:room], key=lambda n: natural(n.name)
    )
    return [node.cells for node in kept], ["red" if node.bad else "" for node in kept]


def run_row(one: Followed) -> tuple[str, ...]:
    run, now = one.run, progress_of(one.run)
    warnings = sum(one.severities[name] for name in ("warn", "block", "unknown"))
    parts = (
        ""
        if now.step is None
        else count(now.step) + (f"/{count(now.total_steps)}" if now.total_steps else "")
    )
    return (
        one.id,
        does(one, now),
        parts,
        f"{100 * now.step // now.total_steps} %" if now.step is not None and now.total_steps else "",
        loss_text(now.loss) if now.loss is not None else "",
        seconds(now.step_seconds) if now.step_seconds is not None else "",
        compact_seconds(now.seconds_left) if now.seconds_left is not None and run.state not in FINAL else "",
        str(len(run.nodes) or ""),
        count(len(run.ranks)) if run.ranks else "",
        str(warnings or ""),
    )


def does(one: Followed, now: Progress) -> str:
    if one.run.state in FINAL:
        return str(one.run.state)
    return doing(Snapshot(phase=one.run.phase or "", progress=now)) if one.reached else "not reached"


def node_row(one: Followed, node: NodeState) -> NodeRow:
    ranks = [rank for rank in one.run.ranks.values() if rank.node == node.name]
    sample, lost = node.sample, node.lost_at is not None and one.run.state not in FINAL
    busy = [gpu.utilization for gpu in node.gpus if gpu.utilization is not None]
    hot = [gpu.temperature for gpu in node.gpus if gpu.temperature is not None]
    free, inward = sample.memory_available_bytes, received(sample)
    part = free / sample.memory_total_bytes if free is not None and sample.memory_total_bytes else 1.0
    cells = (
        node.name,
        one.id,
        str(len(ranks) or ""),
        share(sample.cpu.busy) if sample.cpu is not None and sample.cpu.busy is not None else "",
        size(free) if free is not None else "",
        f"{size(inward)}/s" if inward is not None else "",
        f"{median(busy):.0f} %" if busy else "",
        f"{max(hot):.0f} °C" if hot else "",
        "connection lost" if lost else "",
    )
    return NodeRow(node.name, cells, min(part, min(busy, default=100.0) / 100.0), lost)


def received(sample: Sample) -> float | None:
    """Bytes per second into the node, over the interface with the most traffic."""
    rates = [n.received_bytes_per_second for n in sample.nics if n.received_bytes_per_second is not None]
    return max(rates, default=None)


def table(
    out: Out, heads: Sequence[str], rows: Sequence[Sequence[str]], styles: Iterable[str] | None = None
) -> list[Text]:
    """A table without columns that have no value. The first two columns are aligned left, figures right."""
    texts = [[out.text(cell).plain for cell in row] for row in (heads, *rows)]
    used = [i for i in range(len(heads)) if i == 0 or any(row[i] for row in texts[1:])]
    widths = [max(cell_len(row[i]) for row in texts) for i in range(len(heads))]
    found = []
    for row, style in zip(texts, ["dim", *(styles or [""] * len(rows))], strict=True):
        line = out.text()
        for i in used:
            pad = " " * (widths[i] - cell_len(row[i]))
            own = style or STATE_STYLES.get(row[i], "") if i == 1 else style
            line.append_text(out.text((row[i] + pad if i < 2 else pad + row[i], own)))
            line.append("  ")
        line.rstrip()
        found.append(line)
    return found
