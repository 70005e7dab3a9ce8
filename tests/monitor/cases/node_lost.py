_JOINED = {"at": 1.0, "kind": "joined", "node": "b"}

_LOST = {"at": 5.0, "kind": "lost", "node": "b", "data": {"why": "silent"}}

_ENDED = {"at": 4.0, "kind": "torchrun-ended", "node": "b", "data": {"code": 0}}

FIRES = [
    {"events": [_JOINED, _LOST], "now": 40.0},
    {"events": [_JOINED, _LOST]},
    {"events": [_JOINED, _LOST], "now": 34.0, "verdict": "warn"},
    {"events": [_JOINED, _LOST], "now": 35.0, "verdict": "block"},
]

SILENT = [
    {"events": [_JOINED, _ENDED, _LOST], "now": 40.0},
    {"events": [_JOINED], "now": 40.0},
]
