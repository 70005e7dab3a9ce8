from __future__ import annotations


def _sample(at: float, free: int, total: int = 500 << 30, inodes: int = 10**6) -> dict:
    disk = {"path": "/out", "free_bytes": free, "total_bytes": total, "free_inodes": inodes}
    return {"at": at, "kind": "sample", "node": "a", "data": {"disks": [disk]}}


def _saving(
    size: int, every: int, kept: int = 99, steady: int = 0, until: int = 1300, free: int = 200 << 30
) -> list:
    """Ten hours of steps of a second, a save of so many bytes each `every` seconds of which `kept` stay, and `steady`
    bytes written each second beside it; two ranks tell of each save."""
    events, saves = [], 0
    for second in range(0, until, 5):
        steps = [[second, 3.0, 1.0]]
        data = {"phase": "training", "step": second + 1, "total_steps": 36000, "steps": steps}
        events.append({"at": float(second), "kind": "beat", "node": "a", "rank": 0, "data": data})
        if second and second % every == 0:
            saves += 1
            free -= size if saves <= kept else 0
            for rank in (0, 1):
                said = {"step": second, "path": "/out/x"}
                events.append(
                    {"at": second + 0.1 + 3 * rank, "kind": "saved", "node": "a", "rank": rank, "data": said}
                )
        free -= 5 * steady
        events.append(_sample(second + 0.5, free))
    return sorted(events, key=lambda event: event["at"])


FIRES = [
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
    {"events": [_sample(1.0, 4200)], "now": 20.0, "saw": "GiB are free"},
    {"events": _saving(0, 9999, steady=20 << 20, free=270 << 30)},
]

SILENT = [
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
