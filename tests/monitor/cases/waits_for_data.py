from __future__ import annotations

from allranks.monitor.rank_records import RECENT_STEPS


def _run(wait: float, step: float = 1.0) -> list:
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "a",
            "rank": rank,
            "data": {"phase": "training", "step": second, "steps": [[second, 3.0, step, wait, 1, 1e-5]]},
        }
        for second in range(1, RECENT_STEPS + 6)
        for rank in (0, 1)
    ]


FIRES = [{"events": _run(0.5), "now": 80.0}, {"events": _run(0.35)}, {"events": _run(0.052, step=0.1)}]

SILENT = [
    {"events": _run(0.2), "now": 80.0},
    {"events": _run(0.5)[:60], "now": 80.0},
    {"events": _run(0.32)},
    {"events": _run(0.048, step=0.1)},
]
