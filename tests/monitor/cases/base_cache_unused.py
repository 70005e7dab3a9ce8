from __future__ import annotations

from allranks.core.rank_events import CACHE_NOTE


def _settings(*notes: str, rank: int = 0) -> dict:
    return {"at": 5.0, "kind": "settings", "node": "a", "rank": rank, "data": {"notes": list(notes)}}


DAMAGED = CACHE_NOTE + "the cached part is damaged (its digest is wrong) and was not used"
FULL = CACHE_NOTE + "not written: only 0.1 GiB of its disk are free"

FIRES = [
    {"events": [_settings(DAMAGED)], "verdict": "warn", "saw": "on a, rank 0: the cached part is damaged"},
    {"events": [_settings("x", FULL), _settings(FULL, rank=1)], "verdict": "note", "count": 1},
]

SILENT = [
    {"events": [_settings("loader own: read 5 bytes of the base in 0.10 s; cache: read from it: 5 bytes")]}
]
