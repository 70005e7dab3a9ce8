from __future__ import annotations

from tests.monitor.reading import at, beats, together

ALL = 10_000.0


def _nodes(slow: float, usual: float = 100.0, until: int = 40, total: float = ALL, **also) -> list:
    """Three nodes with two ranks each; those of `c` read `slow` MiB/s each."""
    return together(
        *(beats(node, rank, range(until), at(usual), total) for rank, node in enumerate("aabb")),
        *(beats("c", rank, range(until), at(slow), total, **also) for rank in (4, 5)),
    )


def _begins(begin: int, until: int) -> list:
    """`c` begins later, and is as slow."""
    return together(
        beats("a", 0, range(until), at(100.0), ALL), beats("b", 1, range(begin, until), at(30.0, begin), ALL)
    )


def _ends(seconds: float) -> list:
    """The other node has read all after so long."""
    return together(
        beats("a", 0, (0, 1, seconds, *range(6, 60)), at(500.0 / seconds), 500.0),
        beats("b", 1, range(60), at(5.0), ALL),
    )


FIRES = [
    {"events": _ends(5.2)},
    {
        "events": _nodes(20.0),
        "saw": "c reads the base model at 40.0 MiB/s, the middle one of 2 other nodes at 19",
    },
    {"events": _nodes(32.0), "count": 1},
    {"events": _nodes(30.0, until=22)},
    {"events": _begins(5, 27), "saw": "b reads the base model at 30.0 MiB/s, the other node at 100"},
    # the others end after 6 s
    {"events": _nodes(5.0, until=30, total=600.0), "saw": "at 10.0 MiB/s"},
    # 62 s more than the others
    {"events": _nodes(20.0, until=22, total=1950.0)},
    # all that read a node's cache, one slowly
    {
        "events": together(
            *(
                beats(n, r, range(30), at(v), ALL, source="cache")
                for r, (n, v) in enumerate(zip("abc", (90, 90, 9), strict=True))
            )
        ),
        "saw": "from its cache at 9.00 MiB/s",
    },
]

SILENT = [
    {"events": _nodes(35.0)},
    {"events": _nodes(30.0, until=20)},
    {"events": _nodes(20.0, until=40, total=1845.0)},
    # it has more to read
    {
        "events": together(
            beats("a", 0, range(200), at(100.0), 1000.0), beats("b", 1, range(200), at(90.0), 100_000.0)
        )
    },
    # it began later
    {
        "events": together(
            beats("a", 0, range(90), at(100.0), 3000.0), beats("b", 1, range(25, 90), at(50.0, 25), 9000.0)
        )
    },
    # fewer ranks, each as fast as the others
    {
        "events": together(
            *(beats("a", rank, range(60), at(50.0), ALL) for rank in range(8)),
            beats("b", 8, range(60), at(50.0), ALL),
        )
    },
    # more ranks that share a link
    {
        "events": together(
            *(beats("a", rank, range(60), at(12.0), ALL) for rank in range(8)),
            beats("b", 8, range(60), at(96.0), ALL),
        )
    },
    # a spare among nodes that still have the files in memory
    {
        "events": together(
            beats("a", 0, range(60), at(900.0), 9000.0, source="memory"),
            beats("b", 1, range(60), at(90.0), 9000.0),
        )
    },
    # the rate of the other one is too rough
    {"events": _ends(4.8)},
    # nobody to compare with
    {"events": beats("a", 0, range(60), at(1.0), ALL)},
    # it failed meanwhile
    {
        "events": [
            *_nodes(20.0, until=19),
            {
                "at": 19.0,
                "kind": "exception",
                "node": "a",
                "rank": 0,
                "data": {"type": "OSError", "message": "x"},
            },
            *(one for one in _nodes(20.0) if one["at"] > 19),
        ]
    },
]
