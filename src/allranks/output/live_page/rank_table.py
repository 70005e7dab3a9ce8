"""The newest values of each rank and node, as columns for the heat map."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

from allranks.core.untrusted import integer, mapping, mappings, number, text
from allranks.output.live_page.step_curves import fine, short
from allranks.output.report_series import outliers

RECENT = 16
"""The step time of a rank is the median of so many steps."""

WORTH = 0.05
"""Share of a step's time. A rank that costs less than this is not named."""

NAMES = {"owns": "own work", "waits": "waiting for data", "recent": "step time"}
MOST_RANKS = 20_000
MOST_NODES = 5_000


class Rank:
    """The newest values of one rank."""

    __slots__ = (
        "beat_at", "code", "gpu", "gpu_peak", "local", "node", "owns", "phase", "recent", "rss", "step", "uuid",
        "waits",
    )  # fmt: skip

    def __init__(self, node: str | None, local: int | None):
        self.node, self.local = node, local
        self.step: int | None = None
        self.recent: deque[float] = deque(maxlen=RECENT)
        self.waits: deque[float] = deque(maxlen=RECENT)
        self.owns: deque[float] = deque(maxlen=RECENT)
        """For each step, the time before its first collective: the rank's own work."""
        self.rss: float | None = None
        self.gpu: float | None = None
        self.gpu_peak: float | None = None
        self.phase: str | None = None
        self.beat_at: float | None = None
        self.code: int | None = None
        self.uuid: str | None = None


class NodeValues:
    """The newest values of one node."""

    __slots__ = ("available", "busy", "by_index", "by_uuid", "lost", "received", "sent", "total")

    def __init__(self) -> None:
        self.lost = False
        self.busy: float | None = None
        self.available: float | None = None
        self.total: float | None = None
        self.received: float | None = None
        self.sent: float | None = None
        self.by_uuid: dict[str, Mapping[str, Any]] = {}
        self.by_index: dict[int, Mapping[str, Any]] = {}


class RankTable:
    """`start`, `beat`, `sample` and similar methods take events; `columns` returns the page's table."""

    def __init__(self) -> None:
        self.ranks: dict[int, Rank] = {}
        self.nodes: dict[str, NodeValues] = {}
        self.step = -1

    def rank(self, number: Any, node: Any, local: Any = None) -> Rank | None:
        """The record of a rank, made at its first event. None if the number is not a rank."""
        found = integer(number)
        if found is None or found < 0:
            return None
        known = self.ranks.get(found)
        if known is None:
            if len(self.ranks) >= MOST_RANKS:
                return None
            known = self.ranks[found] = Rank(text(node), integer(local))
        if known.node is None:
            known.node = text(node)
        if known.local is None:
            known.local = integer(local)
        return known

    def node(self, name: Any) -> NodeValues | None:
        found = text(name)
        if found is None:
            return None
        known = self.nodes.get(found)
        if known is None and len(self.nodes) < MOST_NODES:
            known = self.nodes[found] = NodeValues()
        return known

    def start(self, event: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        rank = self.rank(event.get("rank"), event.get("node"), data.get("local_rank"))
        if rank is not None:
            rank.code, rank.phase, rank.beat_at = None, "importing", number(event.get("at"))
            rank.node = text(event.get("node")) or rank.node
            rank.uuid = text(mapping(data.get("gpu")).get("uuid")) or rank.uuid

    def beat(self, rank: Rank, at: float, data: Mapping[str, Any]) -> None:
        rank.beat_at = at
        rank.phase = text(data.get("phase")) or rank.phase
        step: Any = data.get("step")
        if step.__class__ is int:
            rank.step = step
            self.step = max(self.step, step)
        rows = data.get("steps")
        for row in rows[-RECENT:] if isinstance(rows, list) else ():
            if isinstance(row, list) and len(row) > 2 and fine(row[2]):
                rank.recent.append(row[2])
                rank.waits.append(row[3] if len(row) > 3 and fine(row[3]) else 0.0)
                if len(row) > 6 and fine(row[6]):
                    rank.owns.append(row[6])
        for name in ("rss", "gpu", "gpu_peak"):
            value = data.get(f"{name}_bytes")
            if fine(value):
                setattr(rank, name, value)

    def back_to(self, step: int) -> None:
        """Removes later steps, because another attempt begins at this step."""
        self.step = min(self.step, step)
        for rank in self.ranks.values():
            rank.step = None if rank.step is None else min(rank.step, step)
            rank.recent.clear()
            rank.waits.clear()
            rank.owns.clear()

    def sample(self, node: NodeValues, data: Mapping[str, Any]) -> None:
        node.available = number(data.get("memory_available_bytes")) or node.available
        node.total = number(data.get("memory_total_bytes")) or node.total
        busy = number(mapping(data.get("cpu")).get("busy"))
        node.busy = node.busy if busy is None else busy
        nics = mappings(data.get("nics"))
        if nics:
            node.received = sum(number(one.get("received_bytes_per_second")) or 0.0 for one in nics)
            node.sent = sum(number(one.get("sent_bytes_per_second")) or 0.0 for one in nics)
        for gpu in mappings(data.get("gpus"))[:64]:
            node.by_uuid[str(gpu.get("uuid"))] = gpu
            index = integer(gpu.get("index"))
            if index is not None:
                node.by_index[index] = gpu

    def gpu_of(self, rank: Rank) -> Mapping[str, Any]:
        """The newest sample of the rank's GPU, found by its UUID, else by its place on the node."""
        node = self.nodes.get(rank.node or "")
        if node is None:
            return {}
        found = node.by_uuid.get(rank.uuid or "")
        if found is None and rank.uuid is None and rank.local is not None:
            found = node.by_index.get(rank.local)
        return found or {}

    def slowest(self) -> dict[str, Any] | None:
        """The rank that holds up the others, if one clearly does: `{rank, by, value, median}` in seconds per step.

        With collectives all ranks take the same time per step. So a rank's own work counts first, then its wait for
        data, and the whole step only if nothing else is known.
        """
        whole = median([median(one.recent) for one in self.ranks.values() if one.recent] or [0.0])
        for by in ("owns", "waits", "recent"):
            values = self.medians(by)
            worst = outliers(values, 1) if any(values.values()) else []
            if worst and values[worst[0]] - median(values.values()) > WORTH * whole:
                return self.explained(worst[0], by)
        return None

    def medians(self, by: str) -> dict[int, float]:
        return {number: median(getattr(one, by)) for number, one in self.ranks.items() if getattr(one, by)}

    def explained(self, rank: int, by: str) -> dict[str, Any]:
        """The reason for the difference. A rank's own work includes its wait for data: if the wait is most of the
        difference, the wait is named."""
        values, waits = self.medians(by), self.medians("waits")
        more = values[rank] - median(values.values())
        if by == "owns" and rank in waits and waits[rank] - median(waits.values()) > more / 2:
            by, values = "waits", waits
        return {
            "rank": rank,
            "by": NAMES[by],
            "value": short(values[rank]),
            "median": short(median(values.values())),
        }

    def columns(self) -> dict[str, Any]:
        """One list per quantity, in the order of ranks; None stands for unknown values."""
        numbers = sorted(self.ranks)
        ranks = [self.ranks[one] for one in numbers]
        names = list(dict.fromkeys(one.node or "?" for one in ranks))
        places = {name: place for place, name in enumerate(names)}
        gpus = [self.gpu_of(one) for one in ranks]
        return {
            "nodes": names,
            "lost": [bool(self.nodes[name].lost) if name in self.nodes else False for name in names],
            "rank": numbers,
            "node": [places[one.node or "?"] for one in ranks],
            "step": [one.step for one in ranks],
            "lag": [self.step - one.step if one.step is not None else None for one in ranks],
            "seconds": [short(median(one.recent)) if one.recent else None for one in ranks],
            "own": [short(median(one.owns)) if one.owns else None for one in ranks],
            "waiting": [waiting(one) for one in ranks],
            "slowest": self.slowest(),
            "utilization": [number(one.get("utilization")) for one in gpus],
            "temperature": [number(one.get("temperature")) for one in gpus],
            "power": [number(one.get("power_watts")) for one in gpus],
            "gpu_bytes": [one.gpu_peak if one.gpu is None else one.gpu for one in ranks],
            "rss_bytes": [one.rss for one in ranks],
            "beat_at": [one.beat_at for one in ranks],
            "phase": [one.phase for one in ranks],
            "code": [one.code for one in ranks],
        }


def waiting(rank: Rank) -> float | None:
    """The share of the rank's last steps in which it waited for data."""
    spent = sum(rank.recent)
    return round(min(1.0, sum(rank.waits) / spent), 3) if spent > 0 else None
