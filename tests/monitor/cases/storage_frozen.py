from __future__ import annotations

from tests.monitor.doubt import doubted


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


def _late(seconds: float) -> list:
    """The only sample, of second 40, may be judged so late."""
    return doubted(0, 40.0 + seconds, [{**_samples(12.0)[0], "at": 40.0}])


FIRES = [
    {"events": _samples(0, 0.5, 5.5, 10.5)},
    {"events": _samples(0, 5.0, 10.0)},
    {"events": _late(29)},
]

SILENT = [
    {"events": _late(31)},
    {"events": _samples(0, 0.5, 5.5, 0)},
    {"events": _samples(0, 0)},
    {"events": _samples(0, 4.7, 9.7)},
]
