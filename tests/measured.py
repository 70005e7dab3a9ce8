"""Which tests are too slow for the fast tier, by measurement: `tests/measured.txt`, one function a line.

    make test && python -m tests.measured build/tests/fast.xml build/tests/slow.xml      writes it again

A function of the first file is listed if its tests took more than `LIMIT` seconds each, on average. One that is listed
stays until it takes less than half of that in any of the files. The machine's load counts in: measure on a quiet one.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from tests.slowest import durations

LIST = Path(__file__).with_suffix(".txt")
LIMIT = 0.15
"""Seconds. With it 4 % of the functions took 57 % of the tier's time (2 cores, 2026-11-23)."""


@lru_cache(maxsize=1)
def listed() -> frozenset[str]:
    """`tests/room/test_file.py::test_name` of each."""
    return frozenset(LIST.read_text(encoding="utf-8").split())


def function_of(node: str) -> str:
    """The function of a test's id, without its parameters."""
    return node.partition("[")[0]


def means(path: Path) -> dict[str, float]:
    """Seconds per test of each function, in one file of durations."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for taken, file, name in durations([path]):
        seconds[function_of(f"{file}::{name}")].append(taken)
    return {name: sum(taken) / len(taken) for name, taken in seconds.items()}


def judged(fast: Mapping[str, float], others: Mapping[str, float], before: frozenset[str]) -> list[str]:
    """What belongs on the list, by seconds per test; a function that did not run stays where it is."""
    mean = {**others, **fast}
    kept = {name for name in before if mean.get(name, LIMIT) > LIMIT / 2}
    return sorted(kept | {name for name, taken in fast.items() if taken > LIMIT})


if __name__ == "__main__":
    first, *rest = map(Path, sys.argv[1:])
    other = {name: taken for path in rest for name, taken in means(path).items()}
    LIST.write_text("".join(f"{name}\n" for name in judged(means(first), other, listed())), encoding="utf-8")
