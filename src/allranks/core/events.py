"""Events: a run's journal is made of them, one JSON object per line, and is only appended to.

`rank_events`, `node_events` and `run_events` declare the fields of each kind.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from allranks.core.findings import Diagnosis, Finding
from allranks.core.payloads import KINDS, Payload, Refused, as_json, decode, plan_of

LATEST = 1e11
"""A time beyond it, in seconds since the epoch, is forged: the year 5138."""

Content = Union[Payload, Finding, Diagnosis]
"""The classes of an event's content."""


@dataclass(frozen=True)
class Event:
    """`at` is seconds since the epoch; `rank` is the global rank, None if the event is about the node.

    `data` is what the journal holds, `payload` the same with its types. `odd` says what is wrong with the fields that
    were left out: one wrong field must not make a healthy rank seem silent.
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
        """An object of the class that `kinds` has for this kind, or a bare `Payload` for an unknown kind. Raises
        Refused if the event was made from wrong data that had not been checked."""
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
        return json.dumps(self.as_json(), separators=(",", ":"), default=as_json)


@lru_cache(maxsize=None)
def kinds() -> Mapping[str, Any]:
    """The class of each kind's payload. Loaded when events are read: a rank, which only writes its own, needs few."""
    from allranks.core import rank_events  # noqa: F401, I001  # in the order of the documentation
    from allranks.core import node_events, run_events  # noqa: F401

    return KINDS


def told(
    payload: Content, node: Optional[str] = None, rank: Optional[int] = None, at: Optional[float] = None
) -> Event:
    """The event with this content, `at` this time or now."""
    seconds = time.time() if at is None else at
    data = as_json(payload) if isinstance(payload, Payload) else payload.as_json()
    return Event(seconds, type(payload).KIND, node, rank, data, payload)


class _Head(Payload):
    """The fields beside the data."""

    at: float
    kind: str
    node: Optional[str] = None
    rank: Optional[int] = None


def event_from_json(data: Any) -> Event:
    """Reads an event and checks all that its kind declares; `odd` names the wrong fields that were left out. Raises
    Refused (a ValueError) if it is not an event: half a line, another program's line, a required field is wrong."""
    head = decode(_Head, data)
    inner = data.get("data") or {}
    odd: List[str] = []
    try:
        if not abs(head.at) < LATEST:
            raise Refused("at: no such time")
        payload = decode(kinds().get(head.kind, Payload), inner, odd)
    except Refused as error:
        raise Refused(f"{head.kind:.40}: {error}") from None
    if odd:  # readers of the journal trust that its fields have been checked
        inner = {
            **{k: v for k, v in inner.items() if k not in plan_of(type(payload)).fields},
            **as_json(payload),
        }
    return Event(head.at, head.kind, head.node, head.rank, inner, payload, odd)
