from __future__ import annotations

_WAIT = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]

_SLEEP = [["/u/train.py", 30, "<module>"], ["/u/data.py", 7, "fetch"]]

_OTHER = [
    ["/u/train.py", 44, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 5, "broadcast"],
]

_LOCK = [
    ["/u/train.py", 3, "<module>"],
    ["/x/site-packages/torch/utils/cpp_extension.py", 2400, "_jit_compile"],
    ["/x/site-packages/torch/utils/file_baton.py", 51, "wait"],
]


def _run(*stacks: object, asked: bool = True, states: str = "") -> list:
    events: list = [
        {"at": 1.0, "kind": "start", "node": "a", "rank": n, "data": {"pid": n + 9, "start_time": n}}
        for n in range(len(stacks))
    ]
    if asked:
        events.append({"at": 3.0, "kind": "evidence", "node": "a", "data": {"why": "no-progress"}})
    for n, state in enumerate(states):
        data = {"pid": n + 9, "state": state, "wchan": None}
        events.append({"at": 3.5, "kind": "process", "node": "a", "rank": n, "data": data})
    for n, frames in enumerate(stacks):
        data = {"frames": frames, "by": "inside"}
        events.append({"at": 4.0, "kind": "stack", "node": "a", "rank": n, "data": data})
    return events


def _training(
    silence: int,
    until: int,
    timeout: float | None = None,
    quiet: bool = False,
    again: tuple[float, ...] = (),
) -> list:
    """Three ranks train for 20 s at a step a second and stand still; after so long they are asked, and rank 1 sleeps.
    `timeout`: of their process group. `again`: when they are asked once more, with the same answers."""
    events: list = [
        {"at": 1.0, "kind": "start", "node": "a", "rank": n, "data": {"pid": n + 9, "start_time": n}}
        for n in range(3)
    ]
    for second in range(2, until):
        step = min(second, 20)
        steps = [[step, 3.0, 1.0, 0.0, 1, 1e-5]] if second <= 20 else []
        data = {"phase": "training", "step": step, "total_steps": 1000, "steps": steps}
        events += [
            {"at": float(second), "kind": "beat", "node": "a", "rank": n, "data": data} for n in range(3)
        ]
    for asked in (20.5 + silence, *again):
        why = {"why": "no-progress", "quiet": quiet or asked in again}
        events.append({"at": asked, "kind": "evidence", "node": "a", "data": why})
        for n, frames in enumerate((_WAIT, _SLEEP, _WAIT)):
            data = {"frames": frames, "by": "inside"}
            events.append({"at": asked + 0.5, "kind": "stack", "node": "a", "rank": n, "data": data})
            told = {"sequence": 4, "operation": "all_reduce", "timeout_seconds": timeout}
            events.append({"at": asked + 0.7, "kind": "flight", "node": "a", "rank": n, "data": told})
    return sorted(events, key=lambda event: event["at"])


FIRES = [
    {"events": _training(14, 620, again=(570.5, 582.5)), "verdict": "warn"},
    {"events": _training(14, 680), "verdict": "warn"},  # nobody asked lately
    {"events": _training(14, 640, again=(621.5, 632.0)), "verdict": "block"},
    {"events": _training(14, 640, again=(621.5, 631.0)), "verdict": "warn"},
    {"events": _training(14, 680, timeout=1900.0, again=(621.5, 632.5)), "verdict": "warn"},
    {"events": _training(14, 680, timeout=1700.0, again=(621.5, 632.5)), "verdict": "block"},
    {"events": _training(3, 50, quiet=True)},
    {"events": _run(_WAIT, _SLEEP, _WAIT), "now": 6.0},
    {"events": _run(_WAIT, _WAIT, _OTHER), "now": 6.0},
    {"events": _run(_WAIT, None, _WAIT, states="STS"), "now": 14.0},
    {"events": _run(_WAIT, _SLEEP), "now": 6.0},
    {"events": _run(_LOCK, _LOCK, _LOCK), "now": 6.0},
]

SILENT = [
    {"events": _training(2, 50, quiet=True)},
    {"events": _run(_WAIT, _WAIT, _WAIT), "now": 20.0},
    {"events": _run(_WAIT, _OTHER), "now": 20.0},
    {"events": _run(_WAIT, _SLEEP, _WAIT, asked=False), "now": 20.0},
    {
        "events": [
            *_run(_WAIT, _SLEEP, _WAIT),
            {"at": 4.0, "kind": "beat", "node": "a", "rank": 1, "data": {"phase": "training", "step": 4}},
        ],
        "now": 20.0,
    },
]
