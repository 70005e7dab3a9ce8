from __future__ import annotations


def _beats(rank: int, until: int) -> list:
    return [
        {
            "at": float(second),
            "kind": "beat",
            "node": "ab"[rank % 2],
            "rank": rank,
            "data": {"phase": "training", "step": 1},
        }
        for second in range(1, until)
    ]


def _run(*until: int) -> list:
    events = [event for rank, end in enumerate(until) for event in _beats(rank, end)]
    events += [
        {"at": 5.0 * n, "kind": "sample", "node": name, "data": {}}
        for n in range(1, max(until) // 5 + 1)
        for name in "ab"
    ]
    return sorted(events, key=lambda event: event["at"])


def _told(*events: dict, until: int) -> list:
    """With samples of both nodes, each second."""
    heard = [{"at": t + 0.0625, "kind": "sample", "node": n, "data": {}} for t in range(until) for n in "ab"]
    return sorted([*events, *heard], key=lambda event: event["at"])


def _late(until: int) -> list:
    """A training whose beats come every 4 s; rank 0's stop at second 40."""
    return _told(
        *(e for rank, end in ((0, 41), (1, until)) for e in _beats(rank, end) if e["at"] % 4 == 0),
        until=until,
    )


def _ahead(steps: int) -> list:
    """Rank 0's beats stop at step 1, and rank 1 goes on for so many steps."""
    events = [
        {**e, "data": {**e["data"], "step": 1}}
        for rank, end in ((0, 20), (1, 100))
        for e in _beats(rank, end)
    ]
    for event in events:
        if event["rank"] == 1 and event["at"] >= 26.0:
            event["data"]["step"] = 1 + steps
    return _told(*events, until=100)


def _stopped(ranks: int) -> list:
    """So many ranks of node a are seen stopped, and one of node b goes on."""
    start = [
        {
            "at": 1.0,
            "kind": "start",
            "node": "a",
            "rank": n,
            "data": {"pid": n + 1000, "start_time": n, "boot_id": "x"},
        }
        for n in range(ranks)
    ]
    beats = [{**e, "rank": n, "node": "a"} for n in range(ranks) for e in _beats(0, 20)]
    beats += [{**e, "rank": ranks, "node": "b"} for e in _beats(1, 40)]
    states = {str(n): {"state": "T"} for n in range(ranks)}
    seen = [{"at": t + 0.1, "kind": "sample", "node": "a", "data": {"ranks": states}} for t in range(21, 40)]
    return sorted([*start, *_told(*beats, until=20), *seen], key=lambda event: event["at"])


def _together(apart: float) -> list:
    """Ranks 0 and 2 of node a fall silent at second 20 and so much later; the end is when the first is too late."""
    second = [{**e, "at": e["at"] + apart - 2} for e in _beats(2, 23)]
    events = _told(*_beats(0, 21), *second, *_beats(1, 33), until=33)
    return [e for e in events if e["at"] < 31.5]


FIRES = [
    {"events": _together(2.45), "saw": "all 2 ranks on a"},
    {"events": _together(2.65), "saw": "rank 0 has sent no heartbeat"},
    {"events": _ahead(3), "now": 99.0, "saw": "which it cannot take without"},
    {"events": _ahead(2), "now": 99.0, "verdict": "block"},
    {"events": _stopped(8), "fix": "kill -CONT 1000 1001 1002 1003 1004 1005 1006 1007"},
    {"events": _stopped(9), "fix": "kill -CONT PID"},
    {"events": _late(119), "verdict": "warn"},
    {"events": _late(123), "verdict": "block"},
    {"events": _run(20, 35), "now": 34.0},
    {"events": _run(20, 100, 100), "now": 99.0},
    {"events": _run(20, 78), "now": 78.0, "verdict": "warn"},
    {"events": _run(20, 80), "now": 80.0, "verdict": "block"},
]

SILENT = [
    {"events": _run(30, 35), "now": 35.0},
    {"events": _run(20, 20), "now": 40.0},
    {"events": [*_run(20, 30), {"at": 21.0, "kind": "exception", "rank": 0, "data": {}}], "now": 40.0},
]
