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


_WAIT = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]


def _asked(at: float) -> list:
    """The others wait in a collective."""
    seen = [
        {
            "at": at + 1,
            "kind": "stack",
            "node": "abc"[rank],
            "rank": rank,
            "data": {"frames": _WAIT, "by": "inside"},
        }
        for rank in (0, 2)
    ]
    return [{"at": at, "kind": "evidence", "data": {"why": "no-progress"}}, *seen]


def _heard(*events: dict, until: int) -> list:
    heard = [{"at": float(n), "kind": "sample", "node": "b", "data": {}} for n in range(32, until)]
    return sorted([*events, *heard], key=lambda event: event["at"])


def _still(seconds: int) -> list:
    """The others stand still for so long, known to wait."""
    end = 30 + seconds
    return _heard(*_START, *_asked(45.0), *_beats(31, end, (0, 2), False), until=end)


def _at_the_end(seconds: int) -> list:
    """They stand at the last step for so long; rank 1 left one step before it."""
    events = [*_beats(1, 30, (0, 1, 2), True), *_left(30.1), *_beats(31, 31, (0, 2), True)]
    beats = [
        {**e, "data": {**e["data"], "step": 31, "steps": []}} for e in _beats(32, 31 + seconds, (0, 2), False)
    ]
    events = _heard(*events, *_asked(45.0), *beats, until=31 + seconds)
    return [{**e, "data": {**e["data"], "total_steps": 31}} if e["kind"] == "beat" else e for e in events]


def _slow(left: float) -> list:
    """A step takes 10 s. Rank 1 leaves at second `left`, and the others end a last step at second 140."""
    events = []
    for second in range(1, 200):
        done = min(second, 140) // 10
        for rank in (0, 1, 2):
            if rank == 1 and second > left:
                continue
            steps = [[done, 3.0, 10.0, 0.0, 1, 1e-5]] if second % 10 == 0 and second <= 140 else []
            data = {"phase": "training", "step": done, "total_steps": 100, "steps": steps}
            events.append(
                {"at": float(second), "kind": "beat", "node": "abc"[rank], "rank": rank, "data": data}
            )
    gone = [
        {**e, "data": {**e["data"], "step": int(left) // 10}} if e["kind"] == "beat" else e
        for e in _left(left)
    ]
    return _heard(*events, *gone, until=200)


FIRES = [
    {"events": _still(59), "verdict": "warn"},
    {"events": _still(62), "verdict": "block"},
    {"events": _at_the_end(62)},
    {"events": _slow(120.9)},
    {"events": _told(*_START, *_beats(31, 44, (0, 2), False))},
    {"events": _told(*_UNSEEN, *_beats(31, 70, (0, 2), False))},
    {"events": _told(*_START, *_beats(31, 39, (0, 2), True), *_beats(40, 61, (0, 2), False))},
]

SILENT = [
    {"events": _at_the_end(59)},
    {"events": _slow(119.1)},
    {"events": [*_START, *_beats(31, 41, (0, 2), False)]},
    {"events": _told(*_START, *_beats(31, 70, (0, 2), True), *_beats(71, 90, (0, 2), False))},
    {"events": _told(*_START, *_left(30.5, rank=2), *_ALONE, *_beats(31, 60, (0,), False))},
    {"events": _told(*_beats(1, 30, (0, 1, 2), True), *_left(30.1, 1), *_beats(31, 60, (0, 2), False))},
    {"events": _told(*_START, *_beats(31, 60, (0,), False)), "now": 60.0},
    {"events": _told(*_START, *_beats(31, 40, (0, 2), True), *_beats(41, 62, (0, 2), False))},
]
