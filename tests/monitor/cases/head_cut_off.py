from __future__ import annotations

_UP = [{"at": 1.0, "kind": "joined", "node": name} for name in "abc"]

_ALIVE = [{"at": float(n), "kind": "sample", "node": "a", "data": {}} for n in range(2, 60, 2)]

_LOST = [{"at": 21.0, "kind": "lost", "node": name, "data": {"why": "timed out"}} for name in "bc"]

_HEAD = {"head": "a"}


def _told(*events: dict) -> list:
    return sorted(events, key=lambda event: event["at"])


def _of(count: int) -> list:
    """So many nodes beside the head fall silent."""
    return [{"at": 1.0, "kind": "joined", "node": name} for name in "abcdef"[: count + 1]]


FIRES = [
    {"events": _told(*_of(4), *_ALIVE[:8]), "expect": _HEAD, "saw": "(b, c, d, e)"},
    {"events": _told(*_of(5), *_ALIVE[:8]), "expect": _HEAD, "saw": "(b, c, d, e, …)"},
    {"events": _told(*_UP, *_ALIVE[:8]), "expect": _HEAD},
    {"events": _told(*_UP, *_ALIVE, *_LOST), "expect": _HEAD},
]

SILENT = [
    {"events": _told(*_UP[:2], *_ALIVE), "expect": _HEAD},
    {"events": _told(*_UP, *_ALIVE), "expect": {"head": "b"}},
    {"events": _told(*_UP, *_ALIVE)},
]
