"""Lines that count on: of one form, with a number of steps that rises from one to the next. Most trainers print their
progress in such lines, whatever they call their loss (`it 7 reward 0.4`). A program that ended does not count on.

Python shows what waits in its buffer when it ends, behind the traceback. So lines prove something only if a logger
wrote them, which waits for nothing, or if those of several ranks take turns: what waited comes in one piece.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

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
_SPEAKER = re.compile(
    r"(?i)\b(?:rank|node|worker|trainer|proc(?:ess)?|actor|task)[ =:_#-]{0,2}(\d{1,6})\b"
    r"|^[\[(<](?:(?:r|rank|w|worker|p|proc)[ :_-]?(\d{1,4})(?:/\d{1,4})?|(\d{1,4}))[\])>]"
)
"""The rank in a line that its printer put there."""
_BARE = re.compile(r"[(\[](\d{1,4})[)\]][ ]")
_LEVEL = re.compile(r"^\W{0,8}(?:DEBUG|INFO|WARN(?:ING)?|ERROR|I|W)\b")
_PROGRESS = re.compile(
    r"(?i)(?<![a-z])(?:steps?|it|iter(?:ation)?s?|epochs?|episodes?|updates?|rounds?"
    r"|schritte?|epochen?|runde|pas|[e\u00e9]tape|[e\u00e9]poque|paso|[e\u00e9]poca|passo)\b[^\w\n]{0,4}\d|\u7b2c\s?\d{1,9}(?:/\d{1,9})?\s?[\u8f6e\u6b65]"
)
"""The number of a step, by the names that trainers give it."""

_NO_PROGRESS = re.compile(
    r"(?i)\b(?:retr(?:y|ies|ying)|attempts?|tries|try|wait(?:s|ing|ed)?|heartbeat|alive)\b"
)
"""Lines that count tries, or signs of life."""


TURNS = 3
"""How often each of several ranks takes a turn, if none of them waits in a buffer. A buffer makes two pieces at the
most, one when it is full and one at the program's end: `LAST` lines of usual length do not fill it twice."""


class Told(NamedTuple):
    """A line that may count. `number` is that of the line in its log; `order` counts lines over all logs."""

    number: int
    order: int
    rank: Optional[int]
    text: str
    logged: bool = True
    speaker: Tuple[Union[str, int, None], ...] = ()
    """Who printed it, as far as the line shows it."""


class Counting:
    """The last lines of a single log. Only those among its last `LAST` lines count: of others it is not known that they
    were looked at. `number` is that of the log's last line."""

    def __init__(self) -> None:
        self._last: Deque[Tuple[Line, int]] = deque(maxlen=LAST)
        self._told: Tuple[int, int, List[Told]] = (-1, -1, [])
        self._known: Dict[Tuple[int, Optional[int], bool], int] = {}

    def note(self, line: Line, order: int) -> None:
        """Notes a line that is a step, or says nothing."""
        self._last.append((line, order))

    def told(self, number: int) -> List[Told]:
        """The lines that count steps."""
        newest = self._last[-1][1] if self._last else 0
        if self._told[:2] != (newest, number):
            late = [pair for pair in self._last if pair[0].number > number - LAST]
            told = [_told(line, order) for line, order in late if _counts(line.text[:_LOOKED_AT])]
            self._told = newest, number, told
            self._known.clear()
        return self._told[2]

    def speakers(self, number: int) -> Set[int]:
        """The ranks that lines begin with as bare numbers, if several of them take turns. Two turns show that the
        number is not one of an epoch or of a part, which comes once."""
        numbers = [_BARE.match(one.text) for one in self.told(number)]
        told = [int(found.group(1)) for found in numbers if found is not None]
        turns = Counter(now for now, before in zip(told, [None, *told]) if now != before)
        often = {rank for rank, times in turns.items() if times >= TURNS - 1}
        return often if len(often) > 1 else set()

    def after(self, order: int, rank: Optional[int], number: int) -> int:
        """How many lines of one rank, at the most, or of this one count steps after the line `order`."""
        late = [one.speaker for one in self.told(number) if one.order > order and rank in (None, one.rank)]
        return max(Counter(late).values(), default=0)

    def last(self, after: int, rank: Optional[int], number: int, failed: bool) -> int:
        """The order of the last line that counts on after the line `after`; 0 if none does. If a rank is given, its
        lines alone are looked at. `failed`: a process ended with an error. Then a launcher may have mixed what the
        ranks printed at their ends."""
        told = self.told(number)
        late = [one for one in told if one.order > after]
        if not late:
            return 0
        key = late[0].order, rank, failed
        if key not in self._known:
            before = {one.speaker for one in told if one.order <= after and not one.logged}
            some_died = not before <= {one.speaker for one in late}
            late = [one for one in late if one.logged] if failed or some_died else _written_at_once(late)
            self._known[key] = _last_of([one for one in late if rank in (None, one.rank)], rank is not None)
        return self._known[key]


def _counts(text: str) -> bool:
    return _PROGRESS.search(text) is not None and _NO_PROGRESS.search(text) is None


def _told(line: Line, order: int) -> Told:
    text = line.text[:_LOOKED_AT]
    speaker = (line.rank, line.node, line.task, line.local, *_SPEAKER.findall(text))
    return Told(line.number, order, line.rank, text, is_logged(line), speaker)


def is_logged(line: Line) -> bool:
    """Whether a logger wrote this line: it has a time, or begins with a level."""
    return bool(line.time or _CLOCK.match(line.text) or _LEVEL.match(line.text))


def _written_at_once(told: Sequence[Told]) -> List[Told]:
    """The lines that waited in no buffer: a logger's, and those of ranks that take turns."""
    printed = [one for one in told if not one.logged]
    before = [(), *(one.speaker for one in printed)]
    turns = Counter(one.speaker for one, last in zip(printed, before) if one.speaker != last)
    at_once = {speaker for speaker, times in turns.items() if times >= TURNS}
    at_once = at_once if len(at_once) > 1 else set()
    return [one for one in told if one.logged or one.speaker in at_once]


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
