from __future__ import annotations


def _samples(*seconds: float) -> list:
    return [
        {
            "at": 5.0 * n,
            "kind": "sample",
            "node": "a",
            "data": {
                "disks": [
                    {"path": "/nfs/out", "frozen_seconds": s} if s else {"path": "/nfs/out", "free_bytes": 9}
                ]
            },
        }
        for n, s in enumerate(seconds)
    ]


FIRES = [{"events": _samples(0, 0.5, 5.5, 10.5)}, {"events": _samples(0, 5.0, 10.0)}]

SILENT = [
    {"events": _samples(0, 0.5, 5.5, 0)},
    {"events": _samples(0, 0)},
    {"events": _samples(0, 4.7, 9.7)},
]
