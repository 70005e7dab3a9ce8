from __future__ import annotations

from tests.monitor.doubt import doubted


def _events(*reasons: str, until: int = 50, looks: tuple[int, ...] = (1, 16, 31, 46)) -> list:
    """A look at the GPUs is in every third sample, or so."""
    gpus = [{"uuid": "GPU-0", "index": 0, "utilization": 90.0, "throttle": list(reasons)}]
    return [
        {"at": float(t), "kind": "sample", "node": "a", "data": {"gpus": gpus} if t in looks else {}}
        for t in sorted({*range(1, until, 5), *looks})
        if t < until
    ]


def _late(seconds: float) -> list:
    """The last look, of second 46, may be judged so late."""
    return doubted(20, 46.0 + seconds, _events("hw_thermal_slowdown"))


FIRES = [
    {"events": _late(44.5)},
    {"events": _events("hw_thermal_slowdown"), "now": 50.0},
    {"events": _events("hw_thermal_slowdown", until=32)},
]

SILENT = [
    {"events": _late(45.5)},
    {"events": _events(), "now": 50.0},
    {"events": _events("sw_power_cap"), "now": 50.0},
    {"events": _events("hw_thermal_slowdown", until=25), "now": 100.0},
    {"events": _events("hw_thermal_slowdown", looks=(1, 15, 29))},
]
