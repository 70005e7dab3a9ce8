from __future__ import annotations


def _settings(trainable: int) -> dict:
    data = {"trainable_parameters": trainable}
    return {"at": 1.0, "kind": "settings", "node": "a", "rank": 0, "data": data}


FIRES = [{"expect": {"trainable_parameters": 97006592}, "events": [_settings(22986752)]}]

SILENT = [
    {"expect": {"trainable_parameters": 97006592}, "events": [_settings(97006592)]},
    {"expect": {}, "events": [_settings(5)]},
]
