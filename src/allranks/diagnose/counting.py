"""Lines that count on: of one form, with a number that rises from one to the next. Most trainers print their progress
in such lines, whatever they call their loss (`it 7 reward 0.4`). A program that ended does not count on.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, List, Optional, Sequence, Tuple

from allranks.diagnose.lines import Line

LAST = 64
"""Lines at the end of a log that are looked at."""

RISES = 3
"""How often a number rises that starts again from the beginning, or that one rank counts."""

MANY_RISES = 10
"""How often another one rises. Other ranks print some more steps after the death of one (`LATER_STEPS`)."""

EVENLY = 0.75
"""The share of these rises that are alike. Numbers of ranks or items in a list rise, too, but unevenly."""

_LOOKED_AT = 160
_CLOCK = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?")
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,4})?")
_WHOLE = re.compile(r"(?<![\d.-])\d{1,12}(?![\d.])")
_PLACE = re.compile(r"(?i)\b(?:rank|node|worker|trainer|proc(?:ess)?|actor|task)[ =:_#-]{0,2}\d{1,6}\b")
_PROGRESS = re.compile(r"\d\.\d|(?i:\b(?:steps?|it|iter(?:ation)?|epoch|batch|episode|update|round)\b)")
"""Such a line holds a measured value, or names its unit. Lines about files that are removed hold neither."""

_NO_PROGRESS = re.compile(
    r"(?i)\b(?:retr(?:y|ies|ying)|attempts?|tries|try|wait(?:s|ing|ed)?|frame|thread|layers?|gpus?|restart\w{0,3}"
    r"|pid|signal|exit\w{0,5}|local_rank)\b|\brank\s{0,9}:|#|%\|"
)
"""Lines that count something else: tries, the parts of a list, or processes that a launcher ended."""

Rows = Sequence[Sequence[int]]


class Counting:
    """The last lines of a single log. `number` is that of a line in the log; `order` counts lines over all logs."""

    def __init__(self) -> None:
        self._last: Deque[Tuple[int, int, Optional[int], str]] = deque(maxlen=LAST)
        self._known: Dict[Tuple[int, Optional[int], int, int], int] = {}

    def note(self, line: Line, order: int, is_step: bool) -> None:
        """Notes a line that is a step, or says nothing."""
        text = line.text[:_LOOKED_AT]
        if is_step or (_NO_PROGRESS.search(text) is None and _PROGRESS.search(text) is not None):
            self._last.append((line.number, order, line.rank, text))
            self._known.clear()

    def last(self, after: int, rank: Optional[int], number: int, rises: int) -> int:
        """The order of the last line that counts on after the line `after`, among the last ones of a log whose last
        line has this number; 0 if none does. If a rank is given, its lines alone are looked at. `rises`: how often a
        number must rise that goes on from before."""
        key = after, rank, number, rises
        if key not in self._known:
            self._known[key] = self._find(*key)
        return self._known[key]

    def _find(self, after: int, rank: Optional[int], number: int, rises: int) -> int:
        told: Dict[Tuple[str, ...], List[List[int]]] = {}
        last: Dict[Tuple[str, ...], int] = {}
        for at, order, who, text in self._last:
            if at > number - LAST and order > after and rank in (None, who):
                text = _CLOCK.sub("", text)
                places, text = tuple(_PLACE.findall(text)), _PLACE.sub("", text)
                form, row = _NUMBER.sub("0", text), list(map(int, _WHOLE.findall(text)))
                for key in {(form,), (form, *places)}:
                    told.setdefault(key, []).append(row)
                    last[key] = order
        return max((last[key] for key, rows in told.items() if _count_on(rows, rises)), default=0)


def _count_on(rows: Rows, rises: int) -> bool:
    """Whether one of the numbers in these lines rises, over all of them or in those of one rank, which is another."""
    if len(rows) <= RISES:
        return False
    parts: Dict[Tuple[int, int], List[Sequence[int]]] = {}
    for row in rows:
        for place, value in enumerate(row):
            parts.setdefault((place, value), []).append(row)
    every = [rows, *(part for part in parts.values() if RISES < len(part) < len(rows))]
    return any(_rises(values, rises) for part in every for values in zip(*part))


def _rises(values: Sequence[int], needed: int) -> bool:
    """Whether these numbers rise evenly, apart from those of ranks that are one step behind."""
    most, rises, behind = values[0], [], 0
    for value in values[1:]:
        if value > most:
            rises.append(value - most)
            most = value
        behind = max(behind, most - value)
    usual, times = Counter(rises).most_common(1)[0] if rises else (0, 0)
    begins_anew = min(values) <= max(1, usual)
    if len(rises) < (RISES if begins_anew else needed):
        return False
    return times >= EVENLY * len(rises) and behind <= usual
