from __future__ import annotations


def _run(
    slow: float,
    ranks: int = 4,
    seconds: int = 60,
    late: tuple[int, ...] = (2,),
    own: bool = False,
    per_node: int = 2,
    every: int = 1,
    step: float = 1.0,
    spread: float = 0.0,
    pace: int = 1,
) -> list:
    """Ranks that take a step a second, of which those in `late` wait `slow` seconds for their data, or with `own` need
    as much longer before the first collective, in every `every`th step. Each rank
    needs `spread` more than the one before it; a step comes every `pace` seconds and takes `step`."""
    events = []
    for second in range(pace, seconds, pace):
        for rank in range(ranks):
            usual = 0.05 + 0.01 * ((second + rank) % 3) + spread * rank
            mine = slow if rank in late and second // pace % every == 0 else usual
            row = [second // pace, 3.0, step, usual if own else mine, 1, 1e-5] + ([0.3 + mine] if own else [])
            data = {"phase": "training", "step": second // pace, "steps": [row]}
            events.append(
                {
                    "at": float(second),
                    "kind": "beat",
                    "node": "abcd"[rank // per_node],
                    "rank": rank,
                    "data": data,
                }
            )
    return events


FIRES = [
    {"events": _run(0.4)},
    {"events": _run(0.4, own=True)},
    {"events": _run(0.4, ranks=2, per_node=1, late=(1,), own=True)},
    {"events": _run(0.4, ranks=16, per_node=8, late=tuple(range(8, 16)), own=True)},
    {"events": _run(0.165)},
    {"events": _run(0.345, spread=0.05, per_node=1)},
    {"events": _run(0.081, step=0.1)},
    {"events": _run(0.4, seconds=42)},
    {"events": _run(0.4, seconds=64, pace=2)},
    {"events": _run(0.4, ranks=20, per_node=5, late=(0, 1, 5, 6, 10, 11, 15, 16, 17), own=True), "count": 8},
]

SILENT = [
    {"events": _run(0.07)},
    {"events": _run(0.4, seconds=15)},
    {"events": _run(0.07, own=True)},
    {"events": _run(5.0, late=(0,), own=True, every=3)},
    {"events": _run(0.4, ranks=2, per_node=1, late=(0, 1), own=True)},
    {"events": _run(0.155)},
    {"events": _run(0.32, spread=0.05, per_node=1)},
    {"events": _run(0.079, step=0.1)},
    {"events": _run(0.4, seconds=41)},
    {"events": _run(0.4, seconds=92, pace=3)},
]
