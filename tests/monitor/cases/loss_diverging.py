from __future__ import annotations


def _run(*losses: float, ranks: int = 1) -> list:
    return [
        {
            "at": float(n),
            "kind": "beat",
            "node": "a",
            "rank": rank,
            "data": {"phase": "training", "step": n, "steps": [[n, loss, 1.0, 0.0, 1, 1e-5]]},
        }
        for n, loss in enumerate(losses, 1)
        for rank in range(ranks)
    ]


_DOWN = [3.0 - n / 100 for n in range(80)]

_UP = [6.0 + n / 50 for n in range(40)]

FIRES = [
    {"events": _run(*_DOWN, *_UP)},
    {"events": _run(*_DOWN, *_UP, ranks=5)},
    {"events": _run(*[3.0] * 48, *[4.6] * 40)},
    {"events": _run(*[6.0] * 16, *[2.0] * 40, *[7.0] * 40)},
    {"events": _run(*[0.4] * 48, *[0.92] * 40)},
    {"events": _run(*[3.0] * 48, *[5.8] * 27)},
]

SILENT = [
    {"events": _run(*_DOWN)},
    {"events": _run(*_DOWN, 9.0, 9.0, 8.0, *[2.2] * 40)},
    {"events": _run(*[3.0] * 48, *[4.4] * 40)},
    {"events": _run(*[6.0] * 16, *[2.0] * 40, *[6.8] * 40)},
    {"events": _run(*[0.4] * 48, *[0.88] * 40)},
    {"events": _run(*[3.0] * 48, *[5.8] * 26)},
]
