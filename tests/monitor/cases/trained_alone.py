from __future__ import annotations


def _start(world_size: int) -> dict:
    return {"at": 1.0, "kind": "start", "node": "a", "rank": 0, "data": {"world_size": world_size}}


FIRES = [
    {"expect": {"world_size": 24}, "events": [_start(1)]},
    {"expect": {"world_size": 2}, "events": [_start(4)]},
]

SILENT = [{"expect": {"world_size": 24}, "events": [_start(24)]}, {"expect": {}, "events": [_start(1)]}]
