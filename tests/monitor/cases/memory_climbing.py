from __future__ import annotations


def _run(
    growth: int,
    free: int = 8 << 30,
    left: int = 0,
    total: int = 64 << 30,
    mapped: bool = False,
    step: int | None = 1,
) -> list:
    """A rank of 4 GiB that grows by so many bytes a second for 20 minutes, `mapped` without taking memory. At the end
    `free` is left, and `left` to its control group."""
    events: list = []
    for second in range(0, 1200, 5):
        size = (4 << 30) + growth * second + (second % 7) * (1 << 18)
        beat = {"phase": "training" if step else "loading", "step": step, "rss_bytes": size}
        more = 0 if mapped else growth * (1200 - second)
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


FIRES = [
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
