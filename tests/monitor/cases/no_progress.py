from __future__ import annotations


def _start(rank: int) -> dict:
    return {"at": 0.0, "kind": "start", "node": "a", "rank": rank, "data": {"pid": rank, "start_time": 1}}


def _steps(until: int, phase: str = "training") -> list:
    """Two ranks that take a step a second."""
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "a",
            "rank": rank,
            "data": {"phase": phase, "step": second, "steps": [[second, 3.0, 1.0, 0.0, 1, 1e-5]]},
        }
        for second in range(1, until)
        for rank in (0, 1)
    ]


_SAVING = {"at": 30.0, "kind": "beat", "node": "a", "rank": 0, "data": {"phase": "saving", "step": 29}}

_BEATS = [
    {"at": 30.0 + n, "kind": "beat", "node": "a", "rank": n % 2, "data": {"phase": "training", "step": 29}}
    for n in range(20)
]

_HEARD = [{"at": 30.0 + n, "kind": "sample", "node": "a", "data": {}} for n in range(15)]

FIRES = [
    {"events": [_start(0), _start(1), *_steps(30), *_BEATS], "now": 45.0},
    {"events": [_start(0), _start(1), *_steps(30), *_HEARD], "now": 45.0},
]

SILENT = [
    # Nobody is heard at all: it may be the keeper that is cut off.
    {"events": [_start(0), _start(1), *_steps(30)], "now": 45.0},
    {"events": [_start(0), _start(1), *_steps(30), *_BEATS[:8]], "now": 40.0},
    {"events": [_start(0), _start(1), *_steps(30), _SAVING], "now": 120.0},
    {"events": [_start(0)], "now": 300.0},
]
