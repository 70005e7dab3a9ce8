"""A time in which nothing is judged: ranks are gone of which nobody knows yet whether they failed."""

from __future__ import annotations

from allranks.monitor.run_state import DOUBT_SECONDS


def doubted(begin: int, end: float, also: list[dict]) -> list[dict]:
    """From `begin` to `end`, in seconds: ranks 100 and up go one after another, each a cause of doubt for a while.
    `also`: other events. Each second another node is heard, so that no time is taken for our own pause."""
    times = [end - DOUBT_SECONDS]
    while times[-1] > begin:
        times.append(times[-1] - 30.0)
    gone = [
        {"at": at, "kind": "rank-gone", "node": "z", "rank": 100 + n, "data": {}}
        for n, at in enumerate(times)
    ]
    heard = [
        {"at": float(t), "kind": "sample", "node": "z", "data": {}}
        for t in range(int(min(times)), int(end) + 9)
    ]
    return sorted([*gone, *heard, *also], key=lambda event: event["at"])
