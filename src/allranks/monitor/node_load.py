"""Reasons why a node's ranks may be slow, from its last sample."""

from __future__ import annotations

from statistics import median
from typing import List, Optional

from allranks.core.node_events import Sample
from allranks.monitor.run_state import NodeState, RunState

BUSY = 0.90
IOWAIT = 0.10
MORE = 0.20
"""If a value is more than this share above the median of the other nodes, it is worth a remark."""

LOW_MEMORY = 0.05
WORDS = (
    ("busy", BUSY, "its cores are {:.0%} busy"),
    ("iowait", IOWAIT, "{:.0%} of its CPU time waits for I/O"),
)


def remarks(run: RunState, node: Optional[str]) -> List[str]:
    """At most five lines; empty if nothing in the sample differs from the other nodes."""
    if node is None or node not in run.nodes:
        return []
    sample, lines = run.nodes[node].sample, []
    for key, limit, text in WORDS:
        mine = _cpu(sample, key)
        others = [_cpu(other.sample, key) for name, other in run.nodes.items() if name != node]
        known = [value for value in others if value is not None]
        usual = median(known) if known else 0.0
        if mine is not None and mine >= limit and (mine - usual >= MORE or mine > 2 * usual):
            lines.append(f"{node}: {text.format(mine)}" + (f", the others' {usual:.0%}" if known else ""))
    total, free = sample.memory_total_bytes, sample.memory_available_bytes
    if total and free is not None and free / total < LOW_MEMORY:
        lines.append(f"{node}: {free / 2**30:.1f} GiB of {total / 2**30:.0f} GiB of memory are free")
    sampled = [other.sample for name, other in run.nodes.items() if name != node and vars(other.sample)]
    usual = median([max((nic.errors for nic in one.nics), default=0) for one in sampled] or [0])
    for nic in sample.nics:
        if nic.errors > 2 * usual:
            lines.append(f"{node}: {nic.name} counted {nic.errors} errors and drops in the last seconds")
    if sample.gpus_frozen_seconds is not None:
        lines.append(f"{node}: nvidia-smi has hung in the driver for {sample.gpus_frozen_seconds:.0f} s")
    for gpu in run.nodes[node].gpus:
        slowed = [reason for reason in gpu.throttle if "thermal" in reason or "hw_" in reason]
        if slowed:
            lines.append(f"{node}: GPU {gpu.index} is slowed down: {', '.join(slowed)}")
    return lines[:5]


def _cpu(sample: Sample, key: str) -> Optional[float]:
    return getattr(sample.cpu, key, None)


def unwritable(node: NodeState) -> List[str]:
    """The full disks and missing folders of a node, by its last sample; without /dev/shm, which holds no journals."""
    said = []
    for disk in node.sample.disks:
        if disk.path == "/dev/shm":
            continue
        if disk.gone:
            said.append(f"The folder {disk.path} is gone")
        elif 0 in (disk.free_bytes, disk.free_inodes):
            said.append(f"The disk of {disk.path} is full")
    return said
