from __future__ import annotations

from tests.monitor.doubt import doubted


def _sample(at: float, free: int, total: int = 500 << 30, inodes: int = 10**6) -> dict:
    disk = {"path": "/out", "free_bytes": free, "total_bytes": total, "free_inodes": inodes}
    return {"at": at, "kind": "sample", "node": "a", "data": {"disks": [disk]}}


def _saving(
    size: int,
    every: int,
    kept: int = 99,
    steady: int = 0,
    until: int = 1300,
    free: int = 200 << 30,
    apart: float = 5,
) -> list:
    """Ten hours of steps of a second, a save of so many bytes each `every` seconds of which `kept` stay, and `steady`
    bytes written each second beside it; two ranks tell of each save. Beats and samples come every `apart` seconds."""
    events, saves = [], 0
    for second in (apart * n for n in range(int(until / apart))):
        steps = [[int(second), 3.0, 1.0]]
        data = {"phase": "training", "step": int(second) + 1, "total_steps": 36000, "steps": steps}
        events.append({"at": float(second), "kind": "beat", "node": "a", "rank": 0, "data": data})
        if second and second % every == 0:
            saves += 1
            free -= size if saves <= kept else 0
            for rank in (0, 1):
                said = {"step": int(second), "path": "/out/x"}
                events.append(
                    {"at": second + 0.1 + 3 * rank, "kind": "saved", "node": "a", "rank": rank, "data": said}
                )
        free -= int(apart * steady)
        events.append(_sample(second + 0.5, free))
    return sorted(events, key=lambda event: event["at"])


def _scarce(until: int) -> list:
    """From second 1 to `until`, with a look at second 0, when there was room."""
    samples = [_sample(float(second), 500 << 20) for second in range(1, until + 1)]
    return [_sample(0.0, 100 << 30), *samples, _sample(until + 0.5, 100 << 30)]


def _disks(scarce: int) -> list:
    """So many disks, the last of which is nearly full."""
    disks = [{"path": f"/d{n}", "free_bytes": 100 << 30, "total_bytes": 500 << 30} for n in range(scarce)]
    disks[-1]["free_bytes"] = 500 << 20
    return [{"at": 1.0, "kind": "sample", "node": "a", "data": {"disks": disks}}]


def _minutes(falling: int) -> list:
    """Sixteen looks a minute apart; 2 GiB were taken in so many of the minutes between them."""
    events, free = [], 200 << 30
    for minute in range(17):
        data = {
            "phase": "training",
            "step": 60 * minute + 1,
            "total_steps": 36000,
            "steps": [[60 * minute, 3.0, 1.0]],
        }
        events.append({"at": 60.0 * minute, "kind": "beat", "node": "a", "rank": 0, "data": data})
        free -= 2 << 30 if 0 < minute <= falling else 0
        events += [_sample(60.0 * minute + 0.5, free)] if minute < 16 else []
    return events


def _late(seconds: float) -> list:
    """The only sample, of second 40, may be judged so late."""
    return doubted(0, 40.0 + seconds, [_sample(40.0, 500 << 20)])


FIRES = [
    {"events": _scarce(15)},
    {"events": _disks(16)},
    {"events": _late(59)},
    {"events": _minutes(12)},
    {"events": _saving(0, 9999, steady=20 << 20, until=925)},
    {"events": _saving(60 << 30, 400, until=1000, free=170 << 30)},
    {"events": [_sample(1.0, 500 << 20)], "now": 20.0},
    {"events": [_sample(1.0, 100 << 30, inodes=3)], "now": 20.0},
    {"events": _saving(0, 9999, steady=20 << 20)},
    {"events": _saving(4 << 30, 300, steady=20 << 20)},
    {"events": _saving(4 << 30, 300, until=1300)},
    {"events": _saving(60 << 30, 400)},
    {"events": [_sample(1.0, 1069547520, total=42949672960)], "now": 20.0},
    {"events": [_sample(1.0, 10522669875, total=536870912000)], "now": 20.0},
    {"events": [_sample(1.0, 67645734912, total=219902325555200)], "now": 20.0},
    {"events": [_sample(1.0, 100 << 30, inodes=990)], "now": 20.0},
    {"events": [_sample(1.0, 4000)], "now": 20.0, "saw": "it is full"},
    {"events": [_sample(1.0, 4200)], "now": 20.0, "saw": "0.00 GiB of 500.0 GiB"},
    {"events": _saving(0, 9999, steady=20 << 20, free=270 << 30)},
]

SILENT = [
    {"events": _scarce(14)},
    {"events": _disks(17)},
    {"events": _late(61)},
    {"events": _minutes(11)},
    {"events": _saving(0, 9999, steady=20 << 20, until=905)},
    {"events": _saving(0, 9999, steady=20 << 20, until=1000, apart=18.5)},
    {"events": _saving(60 << 30, 400, until=700, free=100 << 30)},
    {"events": [_sample(1.0, 100 << 30)], "now": 20.0},
    {"events": [_sample(1.0, 3 << 40, total=200 << 40)], "now": 20.0},
    {"events": [], "now": 20.0},
    {"events": _saving(2 << 30, 700)},
    {"events": _saving(20 << 30, 700)},
    {"events": _saving(20 << 30, 700, steady=1 << 10)},
    {"events": _saving(20 << 30, 200, kept=3, steady=1 << 10, until=3000)},
    {"events": _saving(0, 300, steady=20 << 20, until=800)},
    {"events": [_sample(1.0, 1080033280, total=42949672960)], "now": 20.0},
    {"events": [_sample(1.0, 10952166604, total=536870912000)], "now": 20.0},
    {"events": [_sample(1.0, 69793218560, total=219902325555200)], "now": 20.0},
    {"events": [_sample(1.0, 100 << 30, inodes=1010)], "now": 20.0},
    {"events": _saving(0, 9999, steady=20 << 20, free=280 << 30)},
]
