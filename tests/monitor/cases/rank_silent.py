from __future__ import annotations


def _beats(rank: int, until: int) -> list:
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "ab"[rank % 2],
            "rank": rank,
            "data": {"phase": "training", "step": 1},
        }
        for second in range(1, until)
    ]


def _run(*until: int) -> list:
    events = [event for rank, end in enumerate(until) for event in _beats(rank, end)]
    events += [
        {"at": 5.0 * n, "kind": "sample", "node": name, "data": {}}
        for n in range(1, max(until) // 5 + 1)
        for name in "ab"
    ]
    return sorted(events, key=lambda event: event["at"])


FIRES = [
    {"events": _run(20, 35), "now": 34.0},
    {"events": _run(20, 100, 100), "now": 99.0},
    {"events": _run(20, 78), "now": 78.0, "verdict": "warn"},
    {"events": _run(20, 80), "now": 80.0, "verdict": "block"},
]

SILENT = [
    {"events": _run(30, 35), "now": 35.0},
    {"events": _run(20, 20), "now": 40.0},
    {"events": [*_run(20, 30), {"at": 21.0, "kind": "exception", "rank": 0, "data": {}}], "now": 40.0},
]
