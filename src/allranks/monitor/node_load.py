"""What a node's last sample says about why its ranks are slow, in words."""

from __future__ import annotations

from statistics import median
from typing import Any, List, Mapping, Optional

from allranks.monitor.run_state import NodeState, RunState

BUSY = 0.90
IOWAIT = 0.10
MORE = 0.20
"""So much more than the middle of the other nodes is worth a word."""

LOW_MEMORY = 0.05
WORDS = (
    ("busy", BUSY, "its cores are {:.0%} busy"),
    ("iowait", IOWAIT, "{:.0%} of its CPU time waits for I/O"),
)


def remarks(run: RunState, node: Optional[str]) -> List[str]:
    """At most five lines; empty where the sample shows nothing that other nodes do not show too."""
    if node is None or node not in run.nodes:
        return []
    sample, lines = run.nodes[node].sample, []
    for key, limit, text in WORDS:
        mine = _cpu(sample, key)
        known = [v for n, s in run.nodes.items() if n != node for v in [_cpu(s.sample, key)] if v is not None]
        usual = median(known) if known else 0.0
        if mine is not None and mine >= limit and (mine - usual >= MORE or mine > 2 * usual):
            lines.append(f"{node}: {text.format(mine)}" + (f", the others' {usual:.0%}" if known else ""))
    total, free = sample.get("memory_total_bytes"), sample.get("memory_available_bytes")
    if isinstance(total, int) and isinstance(free, int) and total > 0 and free / total < LOW_MEMORY:
        lines.append(f"{node}: {free / 2**30:.1f} GiB of {total / 2**30:.0f} GiB of memory are free")
    usual = median([_dropped(s.sample) for n, s in run.nodes.items() if n != node and s.sample] or [0])
    for nic in _rows(sample.get("nics")):
        if isinstance(nic.get("errors"), int) and nic["errors"] > 2 * usual:
            lines.append(
                f"{node}: {nic.get('name')} counted {nic['errors']} errors and drops in the last seconds"
            )
    if isinstance(sample.get("gpus_frozen_seconds"), float):
        lines.append(f"{node}: nvidia-smi has hung in the driver for {sample['gpus_frozen_seconds']:.0f} s")
    for gpu in run.nodes[node].gpus:
        slowed = [
            str(reason)
            for reason in gpu.get("throttle") or ()
            if "thermal" in str(reason) or "hw_" in str(reason)
        ]
        if slowed:
            lines.append(f"{node}: GPU {gpu.get('index')} is slowed down: {', '.join(slowed)}")
    return lines[:5]


def _cpu(sample: Mapping[str, Any], key: str) -> Optional[float]:
    cpu = sample.get("cpu")
    value = cpu.get(key) if isinstance(cpu, Mapping) else None
    return float(value) if isinstance(value, (int, float)) else None


def _dropped(sample: Mapping[str, Any]) -> int:
    """The most errors and drops of one interface."""
    counts = (nic.get("errors") for nic in _rows(sample.get("nics")))
    return max((count for count in counts if isinstance(count, int)), default=0)


def _rows(value: Any) -> List[Mapping[str, Any]]:
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, list) else []


def unwritable(node: NodeState) -> List[str]:
    """The disks of a node that are full, and the folders that are gone, in its last sample; without /dev/shm, in which
    no line is written."""
    disks = node.sample.get("disks")
    said = []
    for disk in disks if isinstance(disks, list) else ():
        path = str(disk.get("path")) if isinstance(disk, dict) else "/dev/shm"
        if path == "/dev/shm":
            continue
        if disk.get("gone"):
            said.append(f"The folder {path} is gone")
        elif 0 in (disk.get("free_bytes"), disk.get("free_inodes")):
            said.append(f"The disk of {path} is full")
    return said
