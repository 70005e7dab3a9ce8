from __future__ import annotations


def _settings(rank: int, digest: str | None, samples: int = 1000) -> dict:
    data = {"data_digest": digest, "samples": samples, "micro_batch": 1}
    return {"at": 1.0 + rank, "kind": "settings", "node": "a", "rank": rank, "data": data}


_FOUR = {"world_size": 4}


def _alike(count: int) -> list:
    return [_settings(n, "aa" if n < count else f"b{n}") for n in range(12)]


FIRES = [
    {"expect": {"world_size": 2}, "events": [_settings(0, "aa", 2), _settings(1, "aa", 2)]},
    {"expect": {"world_size": 2}, "events": [_settings(0, "aa"), _settings(1, "aa")]},
    {"events": [_settings(0, "aa"), _settings(1, "aa")], "now": 65.0},
    {
        "expect": _FOUR,
        "events": [_settings(0, "aa"), _settings(1, "aa"), _settings(2, "bb"), _settings(3, "bb")],
    },
    {"expect": _FOUR, "events": [_settings(0, "aa"), _settings(1, "aa")], "now": 65.0},
    {"expect": _FOUR, "events": [_settings(0, "aa"), _settings(1, "aa")], "now": 61.0},
    {"expect": {"world_size": 12}, "events": _alike(8), "saw": "6, 7 are"},
    {"expect": {"world_size": 12}, "events": _alike(9), "saw": "6, 7, … are"},
]

SILENT = [
    {"events": [_settings(0, "aa"), _settings(1, "bb")]},
    {"expect": {"world_size": 2}, "events": [_settings(0, "aa", 1), _settings(1, "aa", 1)]},
    {"events": [_settings(0, "aa"), _settings(0, "aa")]},
    {"expect": _FOUR, "events": [_settings(0, "aa"), _settings(1, "aa")], "now": 30.0},
    {"expect": {"world_size": 2}, "events": [_settings(0, None), _settings(1, None)]},
    {"expect": _FOUR, "events": [_settings(0, "aa"), _settings(1, "aa")], "now": 59.0},
]
