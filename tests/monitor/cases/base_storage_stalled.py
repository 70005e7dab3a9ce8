from __future__ import annotations

from collections.abc import Callable

from tests.monitor.reading import at, beats, together


def _until(second: int, rate: float = 10.0) -> Callable[[float], float]:
    """Reads, and stands still from this second on."""
    return lambda now: rate * min(now, second)


def _pair(stops: int, until: int) -> list:
    return together(
        beats("a", 0, range(until), at(10.0), 5000.0), beats("b", 1, range(until), _until(stops), 5000.0)
    )


FIRES = [
    {
        "events": _pair(10, 43),
        "saw": "no rank of b has read any of the base model for more than 30 s; 4.79 GiB are left",
    },
    {"events": _pair(10, 41), "count": 1},
    {
        "events": together(*(beats(n, r, range(45), _until(10), 5000.0) for r, n in enumerate(("n1", "n2")))),
        "saw": "no node (n[1-2]) has read",
    },
    {"events": beats("a", 0, range(45), _until(10), 5000.0), "saw": "no rank of a"},
]

SILENT = [
    {"events": _pair(10, 39)},
    # slow, but it reads: one piece in 25 s
    {"events": beats("a", 0, range(120), lambda now: 16.0 * (now // 25), 5000.0)},
    # one rank waits for its turn while its neighbour reads
    {
        "events": together(
            beats("a", 0, range(90), at(10.0), 5000.0), beats("a", 1, range(90), _until(0), 5000.0)
        )
    },
    # all is read, and it waits for the others
    {
        "events": together(
            beats("a", 0, range(90), at(100.0), 1000.0), beats("b", 1, range(90), at(10.0), 5000.0)
        )
    },
    # the rank itself is silent, which is another finding
    {"events": _pair(10, 12), "now": 90.0},
]
