from __future__ import annotations


def _beats(first: int, last: int, ranks: tuple[int, ...], moving: bool) -> list:
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "abc"[rank],
            "rank": rank,
            "data": {
                "phase": "training",
                "step": second if moving else 30,
                "total_steps": 100,
                "steps": [[second, 3.0, 1.0, 0.0, 1, 1e-5]] if moving else [],
            },
        }
        for second in range(first, last + 1)
        for rank in ranks
    ]


def _left(at: float, code: int = 0, rank: int = 1) -> list:
    of = {"node": "abc"[rank], "rank": rank}
    done = {"phase": "done", "step": 30}
    return [
        *([{"at": at, "kind": "beat", **of, "data": done}] if code == 0 else []),
        {"at": at + 0.1, "kind": "end", **of, "data": {"code": code}},
        {"at": at + 0.2, "kind": "rank-gone", **of, "data": {"code": code}},
    ]


_START = [*_beats(1, 30, (0, 1, 2), True), *_left(30.1)]

_ALONE = [{"at": 31.0, "kind": "torchrun-ended", "node": node, "data": {"code": 0}} for node in "bc"]

_UNSEEN = [*_beats(1, 30, (0, 1, 2), True), {**_left(30.1)[-1], "data": {}}]

_HEARD = [{"at": 2.0 * n, "kind": "sample", "node": "b", "data": {}} for n in range(16, 45)]


def _told(*events: dict) -> list:
    return sorted([*events, *_HEARD], key=lambda event: event["at"])


FIRES = [
    {"events": _told(*_START, *_beats(31, 44, (0, 2), False))},
    {"events": _told(*_UNSEEN, *_beats(31, 70, (0, 2), False))},
    {"events": _told(*_START, *_beats(31, 39, (0, 2), True), *_beats(40, 61, (0, 2), False))},
]

SILENT = [
    {"events": [*_START, *_beats(31, 41, (0, 2), False)]},
    {"events": _told(*_START, *_beats(31, 70, (0, 2), True), *_beats(71, 90, (0, 2), False))},
    {"events": _told(*_START, *_left(30.5, rank=2), *_ALONE, *_beats(31, 60, (0,), False))},
    {"events": _told(*_beats(1, 30, (0, 1, 2), True), *_left(30.1, 1), *_beats(31, 60, (0, 2), False))},
    {"events": _told(*_START, *_beats(31, 60, (0,), False)), "now": 60.0},
    {"events": _told(*_START, *_beats(31, 40, (0, 2), True), *_beats(41, 62, (0, 2), False))},
]
