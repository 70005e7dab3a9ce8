"""The supervisors' samples of each node, folded over time: processors, GPUs, network.

Only the standard library.
"""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from allranks.core.untrusted import mapping, mappings, number
from allranks.output.report_series import BINS, LINES, Series, flat

QUANTITIES = ("cpu", "received", "sent", "gpu_use", "gpu_celsius", "gpu_watts")
"""Shares, bytes per second, shares, degrees, watts. For a node's GPUs: the mean use, the hottest one, the total
power."""

MOST_NODES = 4096


class NodeSamples:
    """`add` takes the data of each `sample` event."""

    def __init__(self, bins: int = BINS) -> None:
        self.series = Series(QUANTITIES, bins)
        self.places: Dict[str, int] = {}
        self.gpu_bytes: Dict[str, float] = {}
        """The most memory in use on the fullest GPU of each node, by all programs."""

    def add(self, after_seconds: float, node: str, data: Mapping[str, Any]) -> None:
        if node not in self.places and len(self.places) >= MOST_NODES:
            return
        place = self.places.setdefault(node, len(self.places))
        nics = mappings(data.get("nics"))[:64]
        gpus = mappings(data.get("gpus"))[:64]
        row = (
            number(mapping(data.get("cpu")).get("busy")),
            _total(nics, "received_bytes_per_second"),
            _total(nics, "sent_bytes_per_second"),
            _mean([u / 100.0 for u in _figures(gpus, "utilization")]),
            max(_figures(gpus, "temperature"), default=None),
            _total(gpus, "power_watts"),
        )
        self.series.put(place, max(0.0, after_seconds), row)
        held = _figures(gpus, "memory_bytes")
        if held:
            self.gpu_bytes[node] = max(self.gpu_bytes.get(node, 0.0), *held)

    def charts(self) -> Dict[str, Any]:
        """For each quantity that any node reported: one line per node, or the spread if there are many nodes."""
        names = {place: node for node, place in self.places.items()}
        found: Dict[str, Any] = {}
        for name in QUANTITIES:
            places = self.series.reporting(name)
            if not places:
                continue
            few = len(places) <= LINES
            found[name] = {
                "lines": {names[p]: flat(self.series.points(p, name)) for p in places} if few else {},
                "bands": [] if few else self.series.bands(places, name),
                "names": [names[place] for place in sorted(names)],
                "highest": self._highest(places, name, names),
            }
        return found

    def _highest(self, places: List[int], name: str, names: Mapping[int, str]) -> Dict[str, Any]:
        tops = {place: self.series.column(place, name) for place in places}
        most = {place: column.highest() for place, column in tops.items() if column is not None}
        known = {place: value for place, value in most.items() if value is not None}
        place = max(known, key=lambda p: known[p], default=None)
        return {} if place is None else {"node": names[place], "value": known[place]}


def _figures(rows: List[Mapping[str, Any]], name: str) -> List[float]:
    return [value for value in (number(row.get(name)) for row in rows) if value is not None and value >= 0]


def _total(rows: List[Mapping[str, Any]], name: str) -> Optional[float]:
    values = _figures(rows, name)
    return sum(values) if values else None


def _mean(values: List[float]) -> Optional[float]:
    return sum(values) / len(values) if values else None
