"""Lines that count on: of one form, with a number of steps that rises from one to the next. Most trainers print their
progress in such lines, whatever they call their loss (`it 7 reward 0.4`). A program that ended does not count on.

Python shows what waits in its buffer when it ends, behind the traceback. So lines prove something only if a logger
wrote them, which waits for nothing.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, List, NamedTuple, Optional, Sequence, Tuple

from allranks.diagnose.lines import Line

LAST = 64
"""Lines at the end of a log that are looked at."""

RISES = 3
"""How often a number rises that starts again from the beginning, or that one rank counts."""

MANY_RISES = 10
"""How often any other one rises. Other ranks print some more steps after the death of one (`LATER_STEPS`)."""

EVENLY = 0.75
"""The share of these rises that are alike. Numbers of ranks or items in a list rise, too, but unevenly."""

_LOOKED_AT = 160
_CLOCK = re.compile(r"\d{1,4}[-/]\d{1,2}[-/]\d{1,4}|\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d{1,9})?")
_NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,30})?(?:[eE][-+]?\d{1,4})?")
_WHOLE = re.compile(r"(?<![\d.-])\d{1,12}(?![\d.])")
_PLACE = re.compile(r"(?i)\b(?:rank|node|worker|trainer|proc(?:ess)?|actor|task)[ =:_#-]{0,2}\d{1,6}\b")
_LEVEL = re.compile(r"^\W{0,8}(?:DEBUG|INFO|WARN(?:ING)?|ERROR|I|W)\b")
_PROGRESS = re.compile(
    r"(?i)(?<![a-z])(?:steps?|it|iter(?:ation)?s?|epochs?|episodes?|updates?|rounds?)\b[^\w\n]{0,4}\d|\u7b2c\d{1,9}[\u8f6e\u6b65]"
)
"""The number of a step, by the names that trainers give it."""

_NO_PROGRESS = re.compile(
    r"(?i)\b(?:retr(?:y|ies|ying)|attempts?|tries|try|wait(?:s|ing|ed)?|heartbeat|alive)\b"
)
"""Lines that count tries, or signs of life."""


class Told(NamedTuple):
    """A line that may count. `number` is that of the line in its log; `order` counts lines over all logs."""

    number: int
    order: int
    rank: Optional[int]
    text: str


class Counting:
    """The last lines of a single log."""

    def __init__(self) -> None:
        self._last: Deque[Told] = deque(maxlen=LAST)
        self._known: Dict[Tuple[int, Optional[int], int], int] = {}

    def note(self, line: Line, order: int) -> None:
        """Notes a line that is a step, or says nothing, if a logger wrote it."""
        text = line.text[:_LOOKED_AT]
        if is_logged(line) and _PROGRESS.search(text) is not None and _NO_PROGRESS.search(text) is None:
            self._last.append(Told(line.number, order, line.rank, text))
            self._known.clear()

    def last(self, after: int, rank: Optional[int], number: int) -> int:
        """The order of the last line that counts on after the line `after`, among the last ones of a log whose last
        line has this number; 0 if none does. If a rank is given, its lines alone are looked at."""
        late = [one for one in self._last if one.order > after and one.number > number - LAST]
        if not late:
            return 0
        key = late[0].order, rank, number
        if key not in self._known:
            self._known[key] = _last_of([one for one in late if rank in (None, one.rank)], rank is not None)
        return self._known[key]


def is_logged(line: Line) -> bool:
    """Whether a logger wrote this line: it has a time, or begins with a level."""
    return bool(line.time or _CLOCK.match(line.text) or _LEVEL.match(line.text))


def _last_of(told: Sequence[Told], of_rank: bool) -> int:
    forms: Dict[Tuple[str, ...], List[Tuple[Told, List[int]]]] = {}
    for one in told:
        text = _CLOCK.sub("", one.text)
        places, text = tuple(_PLACE.findall(text)), _PLACE.sub("", text)
        row = one, list(map(int, _WHOLE.findall(text)))
        for key in {(_NUMBER.sub("0", text),), (_NUMBER.sub("0", text), *places)}:
            forms.setdefault(key, []).append(row)
    return max((rows[-1][0].order for rows in forms.values() if _count_on(rows, of_rank)), default=0)


def _count_on(told: Sequence[Tuple[Told, Sequence[int]]], of_rank: bool) -> bool:
    """Whether one of the numbers in these lines rises, over all of them or in those of one rank, which is another."""
    if len(told) <= RISES:
        return False
    rows = [row for _, row in told]
    parts: Dict[Tuple[int, int], List[Sequence[int]]] = {}
    for row in rows:
        for place, value in enumerate(row):
            parts.setdefault((place, value), []).append(row)
    every = [rows, *(part for part in parts.values() if RISES < len(part) < len(rows))]
    return any(_rises(values, of_rank) for part in every for values in zip(*part))


def _rises(values: Sequence[int], of_rank: bool) -> bool:
    """Whether these numbers rise evenly and often enough, apart from those of ranks that are one step behind."""
    most, rises, behind = values[0], [], 0
    for value in values[1:]:
        if value > most:
            rises.append(value - most)
            most = value
        behind = max(behind, most - value)
    usual, times = Counter(rises).most_common(1)[0] if rises else (0, 0)
    if len(rises) < (RISES if of_rank or min(values) <= max(1, usual) else MANY_RISES):
        return False
    return times >= EVENLY * len(rises) and behind <= usual
