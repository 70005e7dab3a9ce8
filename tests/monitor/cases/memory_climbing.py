from __future__ import annotations

from tests.monitor.doubt import doubted


def _run(
    growth: int,
    free: int = 8 << 30,
    left: int = 0,
    total: int = 64 << 30,
    mapped: bool = False,
    step: int | None = 1,
    taken: float = 1.0,
    until: int = 1200,
    begins: int = 0,
) -> list:
    """A rank of 4 GiB that grows by so many bytes a second, `mapped` without taking memory, or so much of it `taken`.
    After 20 minutes `free` is left, and `left` to its control group. It trains from second `begins` on."""
    events: list = []
    for second in range(0, until, 5):
        size = (4 << 30) + growth * second + (second % 7) * (1 << 18)
        trains = step and second >= begins
        beat = {"phase": "training", "step": step} if trains else {"phase": "loading", "step": None}
        beat["rss_bytes"] = size
        more = 0 if mapped else int(taken * growth * (1200 - second))
        sample: dict = {"memory_total_bytes": total, "memory_available_bytes": free + more}
        if left:
            used = (16 << 30) - left - more
            sample["memory_groups"] = [{"path": "/job", "limit_bytes": 16 << 30, "used_bytes": used}]
        events.append({"at": float(second), "kind": "beat", "node": "a", "rank": 0, "data": beat})
        events.append({"at": second + 0.5, "kind": "sample", "node": "a", "data": sample})
    return events


def _loaders(fall: int, until: int = 1500, steps: bool = True) -> list:
    """A rank that stays level beside loader workers that take so many bytes a second of 60 GiB."""
    events: list = []
    for second in range(0, until, 5):
        data = {"phase": "training" if steps else "loading", "rss_bytes": 4 << 30}
        data.update({"step": second + 1} if steps else {})
        sample = {"memory_total_bytes": 64 << 30, "memory_available_bytes": (60 << 30) - fall * second}
        events.append({"at": float(second), "kind": "beat", "node": "a", "rank": 0, "data": data})
        events.append({"at": second + 0.5, "kind": "sample", "node": "a", "data": sample})
    return events


def _others(level: int, falling: int) -> list:
    """The rank stays level; of what is left others take 900 MiB between two looks, `falling` times after `level`."""
    events: list = []
    for look in range(level + falling + 1):
        left = (60 << 30) - max(0, look - level) * (900 << 20)
        sample = {"memory_total_bytes": 64 << 30, "memory_available_bytes": left}
        data = {"phase": "training", "step": look + 1, "rss_bytes": 4 << 30}
        events.append({"at": 30.0 * look, "kind": "sample", "node": "a", "data": sample})
        events.append({"at": 30.0 * look, "kind": "beat", "node": "a", "rank": 0, "data": data})
    return events


def _scarce(until: int) -> list:
    """From second 1 to `until`, with a look at second 0, when there was room."""
    free = {0: 60 << 30, until + 1: 60 << 30}
    data = [
        {"memory_total_bytes": 64 << 30, "memory_available_bytes": free.get(n, 1 << 30)}
        for n in range(until + 2)
    ]
    at = [float(n) for n in range(until + 1)] + [until + 0.5]
    return [{"at": t, "kind": "sample", "node": "a", "data": one} for t, one in zip(at, data, strict=True)]


def _late(seconds: float) -> list:
    """The only sample, of second 40, may be judged so late."""
    return doubted(0, 40.0 + seconds, [{**_scarce(1)[1], "at": 40.0}])


FIRES = [
    {"events": _scarce(30)},
    {"events": _late(59)},
    {"events": _run(4 << 20, until=625)},
    {"events": _run(4 << 20, until=930, begins=600)},
    {"events": _run(4 << 20, until=700, taken=0.52)},
    {"events": _run(740_000, until=635, free=1 << 30, total=16 << 30)},
    {"events": _others(64, 24)},
    {"events": _others(0, 39)},
    {"events": _run(4 << 20), "now": 1230.0},
    {"events": _run(0, free=1 << 30), "now": 1230.0},
    {"events": _run(0, free=60 << 30, left=200 << 20), "now": 1230.0},
    {"events": _run(4 << 20, free=60 << 30, left=6 << 30), "now": 1230.0},
    {"events": _loaders(18 << 20)},
    {"events": _run(0, free=1945 << 20), "now": 1230.0},
    {"events": _run(0, free=int(15.8 * 2**30), total=2 << 40), "now": 1230.0},
    {"events": _run(4 << 20, free=15_000_000_000), "now": 1230.0},
    {"events": _run(310_000, free=1 << 30, total=16 << 30), "now": 1230.0},
]

SILENT = [
    {"events": _scarce(29)},
    {"events": _late(61)},
    {"events": _run(4 << 20, until=590)},
    {"events": _run(4 << 20, until=900, begins=600)},
    {"events": _run(4 << 20, until=700, taken=0.48)},
    {"events": _run(690_000, until=635, free=1 << 30, total=16 << 30)},
    {"events": _others(64, 23)},
    {"events": _others(0, 37)},
    {"events": _run(0), "now": 1230.0},
    {"events": _run(4 << 20, free=60 << 30)[:200], "now": 1230.0},
    {"events": _run(4 << 20, mapped=True), "now": 1230.0},
    {"events": _run(4 << 20, step=None), "now": 1230.0},
    {"events": _run(0, free=60 << 30, total=2 << 40), "now": 1230.0},
    {"events": _run(0, free=60 << 30, left=8 << 30), "now": 1230.0},
    {"events": _loaders(0)},
    {"events": _loaders(18 << 20, until=600)},
    {"events": _loaders(18 << 20, steps=False)},
    {"events": _run(0, free=1985 << 20), "now": 1230.0},
    {"events": _run(0, free=int(16.2 * 2**30), total=2 << 40), "now": 1230.0},
    {"events": _run(4 << 20, free=15_400_000_000), "now": 1230.0},
    {"events": _run(283_000, free=1 << 30, total=16 << 30), "now": 1230.0},
]
