from __future__ import annotations


def _beat(*losses: float, rank: int = 0) -> dict:
    steps = [[n + 1, loss, 0.1, 0.0, 1, 1e-5] for n, loss in enumerate(losses)]
    data = {"phase": "training", "step": len(steps), "steps": steps}
    return {"at": 1.0, "kind": "beat", "node": "a", "rank": rank, "data": data}


_NAN = float("nan")

FIRES = [
    {"events": [_beat(_NAN, _NAN)], "now": 4.0},
    {"events": [_beat(*[_NAN] * 10)], "now": 4.0},
    {"events": [_beat(_NAN, _NAN, rank=n) for n in range(8)], "now": 4.0},
    {"events": [_beat(*[_NAN] * 10)], "now": 4.0, "verdict": "block"},
    {"events": [_beat(*[_NAN] * 9)], "now": 4.0, "verdict": "warn"},
    {"events": [_beat(_NAN, _NAN)], "now": 3.0},
    {"events": [_beat(3.0, _NAN, _NAN), _beat(3.0, rank=1)], "now": 11.0},
]

SILENT = [
    {"events": [_beat(3.2, _NAN, 3.1, _NAN)], "now": 9.0},
    {"events": [_beat(3.0, 2.9)], "now": 9.0},
    {"events": [_beat(_NAN, _NAN)], "now": 2.0},
    {"events": [_beat(3.0, _NAN, _NAN), _beat(3.0, rank=1)], "now": 10.9},
    {"events": [_beat(_NAN, _NAN), {"at": 2.9, "kind": "sample", "node": "a", "data": {}}]},
]
