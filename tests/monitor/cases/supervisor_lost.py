_JOINED = {"at": 1.0, "kind": "joined", "node": "b"}

_LOST = {"at": 5.0, "kind": "lost", "node": "b", "data": {"why": "closed"}}

_BACK = {"at": 9.0, "kind": "joined", "node": "b"}

_RESET = {**_LOST, "data": {"why": "the connection broke: Connection reset by peer"}}

_BOOT = {"process": {"boot_id": "one host"}}

_TWO = [{"at": 1.0, "kind": "supervisor", "node": name, "data": _BOOT} for name in "ab"]

_SILENT = {**_LOST, "data": {"why": "no answer in time"}}

FIRES = [
    {"events": [_JOINED, _LOST], "now": 40.0},
    {"events": [_JOINED, _RESET], "now": 40.0},
    {"events": [*_TWO, _SILENT], "now": 40.0},
    {"events": [_JOINED, _LOST], "now": 8.0},
    {"events": [_JOINED, _LOST], "now": 33.0, "verdict": "warn"},
    {"events": [_JOINED, _LOST], "now": 35.0, "verdict": "block"},
]

SILENT = [
    {"events": [_JOINED, {**_LOST, "data": {"why": "silent"}}], "now": 40.0},
    {"events": [_JOINED, {"at": 2.0, "kind": "swept", "node": "b"}, _LOST], "now": 40.0},
    {"events": [_JOINED, _RESET, {**_BACK, "at": 5.3}], "now": 60.0},
    {"events": [_JOINED, {**_LOST, "at": 5.2}], "now": 8.0},
]
