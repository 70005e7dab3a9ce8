from __future__ import annotations


def _settings(rank: int, digest: str | None) -> dict:
    data = {"trainable_parameters": 5, **({"trainable_digest": digest} if digest else {})}
    return {"at": 1.0 + rank, "kind": "settings", "node": "a", "rank": rank, "data": data}


_THREE = [_settings(0, "aa"), _settings(1, "aa"), _settings(2, "bb")]

_TWENTY = {"world_size": 20}


def _odd(count: int) -> list:
    told = (_settings(n, "bb" if n in range(1, count + 1) else "aa") for n in range(20))
    return [{**one, "at": 1.0 + one["rank"] / 10} for one in told]


FIRES = [
    {"expect": {"world_size": 3}, "events": _THREE},
    {"events": _THREE, "now": 15.0},
    {"expect": {"world_size": 4}, "events": _THREE, "now": 15.0},
    {"expect": {"world_size": 4}, "events": _THREE, "now": 13.0},
    {"expect": _TWENTY, "events": _odd(8), "now": 5.0, "saw": "1, 2, 3, 4, 5, 6, 7, 8 unlike"},
    {"expect": _TWENTY, "events": _odd(9), "now": 5.0, "saw": "7, 8 and 1 more unlike"},
]

SILENT = [
    {"events": [_settings(0, "aa"), _settings(1, "aa")], "now": 30.0},
    {"events": [_settings(0, "aa"), _settings(1, None)], "now": 30.0},
    {"expect": {"world_size": 4}, "events": _THREE, "now": 12.0},
]
