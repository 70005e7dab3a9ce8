"""The verdict on each node: its worst finding, whether a launch may use it, and a short description of it. Pure.

Findings about one node of a machine are about all nodes of that machine: with `same_host` the checks look at
it once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from allranks.checks import fabric
from allranks.checks.context import Context, View
from allranks.core import OK, VERDICTS, Finding, Node, worst
from allranks.core.quantities import in_bytes
from allranks.core.text import printable
from allranks.core.untrusted import mapping, number, text

COLUMNS = ("GPUs", "driver", "torch", "fabric", "interface", "processors", "memory")
UNREAD, NONE = "?", "—"
"""The texts for a fact that was not read, and for one that was read and is empty."""


@dataclass(frozen=True)
class Standing:
    """One node after its checks. `findings` are the ids of its findings, worst first.

    `passes` is False if a finding stops a launch on this node and the user has not accepted it. `about` has a
    text for each of `COLUMNS`.
    """

    node: Node
    verdict: str
    passes: bool
    findings: tuple[str, ...] = ()
    about: dict[str, str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.node.name,
            "address": self.node.address,
            "rank": self.node.rank,
            "gpus": self.node.gpus,
            "verdict": self.verdict,
            "passes": self.passes,
            "findings": list(self.findings),
            "about": dict(self.about),
        }


def standings(context: Context, findings: Iterable[Finding], accept: Collection[str] = ()) -> list[Standing]:
    """One Standing per node, in rank order. A finding that does not name a node is about the run and not counted
    here."""
    by_node: dict[str, list[Finding]] = {}
    machine = {view.name: group[0].name for group in context.hosts for view in group}
    for finding in findings:
        name = finding.where.node
        if name is not None and finding.verdict != OK:
            by_node.setdefault(machine.get(name, name), []).append(finding)
    return [
        standing(context, view, by_node.get(machine.get(view.name, view.name), ()), accept)
        for view in context.views
    ]


def standing(context: Context, view: View, findings: Sequence[Finding], accept: Collection[str]) -> Standing:
    ids = dict.fromkeys(f.id for f in sorted(findings, key=lambda f: -VERDICTS.index(f.verdict)))
    left = [f for f in findings if f.id not in accept]
    return Standing(
        node=view.node,
        verdict=worst(left),
        passes=not any(f.stops_launch for f in left),
        findings=tuple(f"{name} (accepted)" if name in accept else name for name in ids),
        about={name: printable(text, 60) for name, text in described(context, view).items()},
    )


def described(context: Context, view: View) -> dict[str, str]:
    """A short text for each of `COLUMNS`."""
    if "node" in view.facts.unreadable:
        return dict.fromkeys(COLUMNS, UNREAD)
    return {
        "GPUs": gpus_text(view),
        "driver": _known(view, "gpus.driver"),
        "torch": _known(view, "software.versions.torch"),
        "fabric": fabric_text(view),
        "interface": interface_text(context, view),
        "processors": _known(view, "system.cpus.usable"),
        "memory": memory_text(view),
    }


def _known(view: View, path: str) -> str:
    if not view.has(path):
        return UNREAD
    value = view.get(path)
    return NONE if value is None or value == "" else str(value)


def gpus_text(view: View) -> str:
    """`8 × A100-SXM4-80GB`; several models with a plus between them."""
    if not view.has("gpus.list"):
        return UNREAD
    names = Counter(
        (text(gpu.get("name")) or "unnamed").removeprefix("NVIDIA ") for gpu in view.maps("gpus.list")
    )
    return " + ".join(f"{count} × {name}" for name, count in names.items()) or NONE


def fabric_text(view: View) -> str:
    """`8 × 400 Gb/s InfiniBand` of the ports that are up."""
    if not view.has("infiniband.devices"):
        return UNREAD
    kinds = Counter(
        (
            number(port.get("rate_gbits")),
            "RoCE" if port.get("layer") == "Ethernet" else str(port.get("layer")),
        )
        for _, _, port in fabric.active_ports(view)
    )
    texts = [
        f"{count} × {layer}" if rate is None else f"{count} × {rate:g} Gb/s {layer}"
        for (rate, layer), count in kinds.items()
    ]
    return " + ".join(texts) or NONE


def interface_text(context: Context, view: View) -> str:
    """`eth0 100 Gb/s`: the interface that the node's ranks use. A virtual interface has no known speed."""
    name = fabric.interface_of_ranks(context, view)
    if not isinstance(name, str):
        return UNREAD
    speed = number(mapping(fabric.interfaces(view).get(name)).get("speed_mbits"))
    return f"{name} {speed / 1000:g} Gb/s" if speed else name


def memory_text(view: View) -> str:
    total = view.number("system.memory.total_bytes")
    return UNREAD if total is None else in_bytes(total)
