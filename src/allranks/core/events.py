"""Events: what a run's journal is made of, one JSON object a line, only ever appended."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any, Dict, Mapping, Optional


@dataclass(frozen=True)
class Event:
    """`at` is seconds since the epoch; `rank` is the global rank, None where the event is the node's."""

    at: float
    kind: str
    node: Optional[str] = None
    rank: Optional[int] = None
    data: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> Dict[str, Any]:
        return {
            "at": self.at,
            "kind": self.kind,
            "node": self.node,
            "rank": self.rank,
            "data": dict(self.data),
        }

    def as_line(self) -> str:
        return json.dumps(self.as_json(), separators=(",", ":"), allow_nan=True)


def event_from_json(data: Mapping[str, Any]) -> Event:
    """Reads an event; raises ValueError where it is none (a half-written line, another program's)."""
    try:
        rank, at = data.get("rank"), float(data["at"])
        if not math.isfinite(at):
            raise ValueError("no event: its time is no number")
        return Event(
            at=at,
            kind=str(data["kind"]),
            node=None if data.get("node") is None else str(data["node"]),
            rank=None if rank is None else int(rank),
            data=dict(data.get("data") or {}),
        )
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"no event: {error}") from None
