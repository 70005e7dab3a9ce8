"""The report of a run that is followed. Its events are folded as they come, so the journal is not read at the end."""

from __future__ import annotations

from typing import Any, Mapping, Optional

from allranks.output import report, report_read
from allranks.output.report_collect import Collector
from allranks.output.report_series import BINS

RANKS = 512
"""Above this many ranks their series are coarser, so that a keeper never holds more than about 50 MiB of them."""

LEAST_BINS = 32


class Live:
    """`add` takes each event once; `live(root)` returns the page."""

    def __init__(self, world_size: int = 1):
        bins = max(LEAST_BINS, min(BINS, BINS * RANKS // max(1, world_size)))
        self.collector: Optional[Collector] = Collector(bins=bins)

    def add(self, event: Mapping[str, Any]) -> None:
        """Never raises. If an event cannot be folded, the journal is read at the end instead."""
        if self.collector is not None:
            try:
                self.collector.add(event)
            except Exception:
                self.collector = None

    def __call__(self, root: str) -> str:
        return report.render(report_read.collect(root, self.collector))
