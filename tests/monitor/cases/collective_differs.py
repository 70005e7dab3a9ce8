from __future__ import annotations

_STILL = {"phase": None, "step": None}


def _at(*places: tuple[int, str], beat: float = 6.0) -> list:
    """Ranks that have answered, each at a number and an operation; they beat once more after it."""
    events: list = [{"at": 4.0, "kind": "evidence", "node": "a", "data": {"why": "no-progress"}}]
    for rank in range(len(places)):
        start = {"pid": rank + 9, "start_time": rank}
        events.insert(0, {"at": 1.0, "kind": "start", "node": "a", "rank": rank, "data": start})
    for rank, (sequence, operation) in enumerate(places):
        frames = {"frames": [["/u/train.py", 3, "main"], ["/x/torch/distributed/c10d.py", 5, operation]]}
        events.append({"at": 4.5, "kind": "stack", "node": "a", "rank": rank, "data": frames})
        data = {"sequence": sequence, "operation": operation, "sizes": [[4]]}
        events.append({"at": 5.0, "kind": "flight", "node": "a", "rank": rank, "data": data})
    for rank in range(len(places)):
        events.append({"at": beat, "kind": "beat", "node": "a", "rank": rank, "data": _STILL})
    return sorted(events, key=lambda event: event["at"])


FIRES = [
    {"events": _at((9, "all_reduce"), (9, "broadcast")), "now": 7.0},
    {"events": _at((9, "all_reduce"), (9, "broadcast"), (9, "all_reduce"), (9, "broadcast")), "now": 7.0},
]

SILENT = [
    {"events": _at((9, "all_reduce"), (9, "all_reduce")), "now": 9.0},
    {"events": _at((9, "all_reduce"), (9, "broadcast"), (9, "all_reduce")), "now": 9.0},
    {"events": _at((9, "all_reduce"), (8, "broadcast")), "now": 9.0},
    {
        "events": [
            *_at((9, "all_reduce"), (9, "broadcast")),
            {"at": 6.1, "kind": "beat", "node": "a", "rank": 1, "data": {"phase": "training", "step": 4}},
        ],
        "now": 20.0,
    },
]
