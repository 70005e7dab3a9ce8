"""Heartbeats of ranks that read their own parts of the base model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from allranks.core.rank_events import BASE_BYTES

MiB = float(1 << 20)


def beats(
    node: str, rank: int, seconds: Iterable[float], done: Callable[[float], float], total: float, **also: Any
) -> list[dict]:
    """One each second; `done` and `total` are MiB. Once all is read, heartbeats have no progress."""

    def data(second: float) -> dict:
        read = min(done(second), total)
        if read >= total:
            return {"phase": "loading", "step": None}
        progress = {"what": BASE_BYTES, "done": read * MiB, "total": total * MiB, "source": "storage", **also}
        return {"phase": "loading", "step": None, "progress": progress}

    return [{"at": float(s), "kind": "beat", "node": node, "rank": rank, "data": data(s)} for s in seconds]


def at(rate: float, begin: int = 0) -> Callable[[float], float]:
    """So many MiB per second, from second `begin` on."""
    return lambda second: rate * (second - begin)


def together(*ranks: list[dict]) -> list[dict]:
    return sorted([event for one in ranks for event in one], key=lambda event: event["at"])
