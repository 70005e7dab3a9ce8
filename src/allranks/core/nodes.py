"""Nodes, processes and facts: allranks' data about machines."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any, Dict, Mapping, Optional, Tuple


@dataclass(frozen=True)
class Node:
    """One machine of a run. `rank` is its node rank (0 is the head), `gpus` its number of ranks."""

    name: str
    address: str
    rank: int
    gpus: int = 1
    interface: Optional[str] = None
    port: Optional[int] = None
    user: Optional[str] = None
    labels: Tuple[Tuple[str, str], ...] = ()
    env: Tuple[Tuple[str, str], ...] = ()

    def as_json(self) -> Dict[str, Any]:
        data = asdict(self)
        data["labels"], data["env"] = dict(self.labels), dict(self.env)
        return data


@dataclass(frozen=True)
class Cluster:
    """The nodes of a run in rank order; the first is the head. The last `spares` of them are kept back."""

    nodes: Tuple[Node, ...]
    spares: int = 0

    @property
    def head(self) -> Node:
        return self.nodes[0]

    @property
    def training(self) -> Tuple[Node, ...]:
        """The nodes that have ranks from the beginning."""
        return self.nodes[: len(self.nodes) - self.spares]

    @property
    def world_size(self) -> int:
        return sum(node.gpus for node in self.training)


@dataclass(frozen=True)
class Facts:
    """The facts that one node reported about itself. If a fact could not be read, `unreadable` gives the reason.

    `taken_at` is seconds since the epoch on the node's own clock; `values` maps a family (`system`,
    `network`, …) to its facts.
    """

    node: str
    taken_at: float
    values: Mapping[str, Any]
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def get(self, path: str, default: Any = None) -> Any:
        """`facts.get("system.memory_bytes")`; the default if any part of the path is missing."""
        value: Any = self.values
        for part in path.split("."):
            if not isinstance(value, Mapping) or part not in value:
                return default
            value = value[part]
        return value

    def why_unreadable(self, path: str) -> Optional[str]:
        """The reason why `path`, or the family it belongs to, could not be read; None if it could."""
        parts = path.split(".")
        for n in range(len(parts), 0, -1):
            reason = self.unreadable.get(".".join(parts[:n]))
            if reason is not None:
                return reason
        return None

    def as_json(self) -> Dict[str, Any]:
        return {
            "node": self.node,
            "taken_at": self.taken_at,
            "values": dict(self.values),
            "unreadable": dict(self.unreadable),
        }


def facts_from_json(data: Mapping[str, Any]) -> Facts:
    return Facts(
        node=str(data.get("node", "")),
        taken_at=float(data.get("taken_at", 0.0)),
        values=dict(data.get("values") or {}),
        unreadable={str(k): str(v) for k, v in dict(data.get("unreadable") or {}).items()},
    )


@dataclass(frozen=True)
class Process:
    """The only thing that may ever be signalled: a pid together with what proves that it is still ours.

    `start_time` is field 22 of /proc/PID/stat (clock ticks since boot), `boot_id` the kernel's random id
    of this boot, `run_id` the run that owns it.
    """

    node: str
    pid: int
    start_time: int
    boot_id: str
    run_id: str
    container: Optional[str] = None
    scheduler_job: Optional[str] = None

    def as_json(self) -> Dict[str, Any]:
        return asdict(self)


def process_from_json(data: Mapping[str, Any]) -> Process:
    known = {f.name for f in fields(Process)}
    return Process(**{k: v for k, v in data.items() if k in known})
