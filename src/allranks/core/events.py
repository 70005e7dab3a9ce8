"""Events: what a run's journal is made of, one JSON object a line, only ever appended.

What each kind holds is declared in `rank_events`, `node_events` and `run_events`.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, List, Mapping, Optional, Sequence

from allranks.core.payloads import KINDS, Payload, Refused, as_json, decode, plan_of

LATEST = 1e11
"""A time beyond it, in seconds since the epoch, is forged: the year 5138."""


@dataclass(frozen=True)
class Event:
    """`at` is seconds since the epoch; `rank` is the global rank, None where the event is the node's.

    `data` is what stands in the journal, `payload` the same with its types. `odd` says what is wrong with the fields
    that were left out: one wrong field must not make a healthy rank seem silent.
    """

    at: float
    kind: str
    node: Optional[str] = None
    rank: Optional[int] = None
    data: Mapping[str, Any] = field(default_factory=dict)
    checked: Any = field(default=None, compare=False, repr=False)
    odd: Sequence[str] = field(default=(), compare=False)

    @property
    def payload(self) -> Any:
        """Of the class that `kinds` has for it, a bare `Payload` for one that it does not know. Raises Refused
        if the event was made from data that nobody has checked."""
        if self.checked is None:
            odd: List[str] = []
            object.__setattr__(self, "checked", decode(kinds().get(self.kind, Payload), self.data, odd))
            object.__setattr__(self, "odd", odd)
        return self.checked

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


@lru_cache(maxsize=None)
def kinds() -> Mapping[str, Any]:
    """The class of each kind's payload. Loaded for who reads events: a rank that writes its own does without."""
    from allranks.core import rank_events  # noqa: F401, I001  # in the order of the documentation
    from allranks.core import node_events, run_events  # noqa: F401

    return KINDS


def told(payload: Payload, node: Optional[str] = None, rank: Optional[int] = None) -> Event:
    """The event that tells this, now."""
    return Event(time.time(), type(payload).KIND, node, rank, as_json(payload), payload)


class _Head(Payload):
    """What stands around the data."""

    at: float
    kind: str
    node: Optional[str] = None
    rank: Optional[int] = None


def event_from_json(data: Any) -> Event:
    """Reads an event and checks all that its kind declares; `odd` names the wrong fields that were left out. Raises
    Refused (a ValueError) for one that is none: half a line, another program's, a wrong field that must be there."""
    head = decode(_Head, data)
    inner = data.get("data") or {}
    odd: List[str] = []
    try:
        if not abs(head.at) < LATEST:
            raise Refused("at: no such time")
        payload = decode(kinds().get(head.kind, Payload), inner, odd)
    except Refused as error:
        raise Refused(f"{head.kind:.40}: {error}") from None
    if odd:  # readers of the journal trust that what stands in it has been checked
        inner = {
            **{k: v for k, v in inner.items() if k not in plan_of(type(payload)).fields},
            **as_json(payload),
        }
    return Event(head.at, head.kind, head.node, head.rank, inner, payload, odd)
