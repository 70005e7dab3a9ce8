"""The planned and the measured memory, as stacked bars. Only the standard library."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from allranks.core.untrusted import mapping, number
from allranks.output.report_text import escape, size

CALLED = {
    "parameters": "parameters",
    "working_set": "gathered parameters",
    "lora": "LoRA",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "activations": "activations",
    "logits": "logits",
    "buffers": "buffers",
    "runtime": "CUDA and NCCL",
    "fragmentation": "fragmentation",
}
NAME = "memory-stack"
MOST_NODES = 12
Stack = Sequence[Tuple[str, float]]
"""Name and bytes of each part."""


def memory_plan(plan: Mapping[str, Any]) -> Dict[str, Any]:
    """The planned memory: per GPU its parts and total, per node the host memory while it trains."""
    memory = mapping(plan.get("memory"))
    told, host = memory.get("gpu_bytes"), mapping(memory.get("host_parts"))
    parts = {str(name): number(value) for name, value in mapping(told).items()}
    total = parts.pop("total", None) if isinstance(told, Mapping) else number(told)
    return {
        "gpu": total,
        "parts": {name: value for name, value in parts.items() if value},
        "usable": number(memory.get("gpu_usable_bytes")),
        "host": number(host.get("train")),
        "verdict": memory.get("verdict"),
    }


def memory_bars(data: Mapping[str, Any]) -> str:
    """One bar for the plan, one for the fullest rank of each node."""
    rows = data["ranks"]
    on_gpu = any(row.get("gpu_peak_bytes") for row in rows)
    plan = data["memory_plan"]
    planned: List[Tuple[str, float]] = []
    if on_gpu:
        planned = [(CALLED.get(str(name), str(name)), value) for name, value in plan["parts"].items()]
    if on_gpu and not planned and plan["gpu"]:
        planned = [("planned", plan["gpu"])]
    if not on_gpu and plan["host"]:
        planned = [("all ranks of a node", plan["host"])]
    measured = of_gpus(data) if on_gpu else of_hosts(rows)
    if not measured:
        return ""
    stacks: List[Tuple[str, Stack]] = [*([("plan", planned)] if planned else []), *measured]
    title = "Memory of a GPU, planned and measured" if on_gpu else "Memory of a node, planned and measured"
    return figure(title, stacks, plan["usable"] if on_gpu else None, len(measured))


def of_gpus(data: Mapping[str, Any]) -> List[Tuple[str, Stack]]:
    """The rank with the highest peak of each node; beside it the memory that other programs used on its fullest GPU."""
    peaks: Dict[str, Tuple[float, int]] = {}
    for row in data["ranks"]:
        if row.get("gpu_peak_bytes"):
            one = (row["gpu_peak_bytes"], row["rank"])
            peaks[str(row.get("node"))] = max(peaks.get(str(row.get("node")), one), one)
    found: List[Tuple[str, Stack]] = []
    for node, (peak, rank) in largest(peaks):
        rest = max(0.0, (number(data["gpus_bytes"].get(node)) or 0.0) - peak)
        parts = [("held by torch, peak", float(peak))]
        found.append((f"{node}, rank {rank}", [*parts, ("CUDA and other programs", rest)] if rest else parts))
    return found


def of_hosts(rows: Sequence[Mapping[str, Any]]) -> List[Tuple[str, Stack]]:
    sums: Dict[str, Tuple[float, int]] = {}
    for row in rows:
        if row.get("rss_bytes"):
            before = sums.get(str(row.get("node")), (0.0, 0))
            sums[str(row.get("node"))] = (before[0] + row["rss_bytes"], before[1] + 1)
    return [(node, [("its ranks, peaks together", value)]) for node, (value, _) in largest(sums)]


def largest(held: Mapping[str, Tuple[float, int]]) -> List[Tuple[str, Tuple[float, int]]]:
    """The fullest nodes, in their original order."""
    kept = sorted(held, key=lambda node: -held[node][0])[:MOST_NODES]
    return [(node, value) for node, value in held.items() if node in kept]


# ---- drawn ----


def figure(title: str, stacks: Sequence[Tuple[str, Stack]], usable: Optional[float], measured: int) -> str:
    top = max([sum(value for _, value in parts) for _, parts in stacks] + ([usable] if usable else []))
    names = list(dict.fromkeys(name for _, parts in stacks for name, _ in parts))
    rows = "".join(row(name, parts, names, top, usable) for name, parts in stacks)
    note = f"; the stroke is what a GPU has, {size(usable)}" if usable else ""
    note += f"; the {measured} fullest nodes" if measured == MOST_NODES else ""
    return (
        f'<figure class="chart wide" id="chart-{NAME}"><table class="bars bare"><caption>{escape(title + note)}'
        '</caption><thead><tr><th scope="col">of</th><th scope="col">parts</th><th scope="col">bytes</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>{key(stacks, names)}</figure>"
    )


def row(name: str, parts: Stack, names: Sequence[str], top: float, usable: Optional[float]) -> str:
    rects, start = [], 0.0
    for part, value in parts:
        place = f'x="{100 * start / top:.2f}%" width="{100 * value / top:.2f}%"'
        rects.append(f'<rect class="p{names.index(part) % 10}" {place} height="100%"/>')
        start += value
    if usable:
        rects.append(f'<rect class="planned" x="{100 * usable / top:.2f}%" width="1.5" height="100%"/>')
    said = f"{name}: " + ", ".join(f"{part} {size(value)}" for part, value in parts)
    return (
        f'<tr><th scope="row">{escape(name, 200)}</th><td class="bar"><svg role="img" aria-label="{escape(said)}">'
        f"{''.join(rects)}</svg></td><td>{size(start)}</td></tr>"
    )


def key(stacks: Sequence[Tuple[str, Stack]], names: Sequence[str]) -> str:
    """Each part with its tone, and with its bytes if the plan has them."""
    planned = dict(stacks[0][1]) if stacks[0][0] == "plan" else {}
    items = []
    for n, name in enumerate(names):
        shape = f'<svg width="18" height="10" aria-hidden="true"><rect class="p{n % 10}" width="18" height="10"/></svg>'
        told = f" {size(planned[name])}" if name in planned and len(planned) > 1 else ""
        items.append(f"<li>{shape}{escape(name + told)}</li>")
    return f'<ul class="key">{"".join(items)}</ul>'
