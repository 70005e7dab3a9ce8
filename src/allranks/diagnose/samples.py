"""Lines at the beginning of each log and at the end of a single one, which show how the ranks differ
(`differences.py`)."""

from __future__ import annotations

from collections import deque
from typing import Any, Callable, Deque, Dict, FrozenSet, List, Tuple

from allranks.diagnose.counting import LAST
from allranks.diagnose.lines import Line
from allranks.diagnose.usual import FIRST

FIRST_OF_EACH = 64
"""Lines at the beginning of each of several logs that are kept; of a single log `FIRST` are."""

_KEPT = 1 << 14
_LEAST_OF_EACH = 8


FEW = 64
"""Logs of one job, up to which the last lines of each are read one by one."""


class Samples:
    """Lines that are neither in a traceback nor name a cause."""

    def __init__(self) -> None:
        self._first: List[Line] = []
        self._last: Deque[Line] = deque(maxlen=LAST)
        self._asked: Dict[str, Tuple[int, Any]] = {}
        self.names: FrozenSet[str] = frozenset()
        """The names by which ranks or their machines introduced themselves."""
        self.of_each = FIRST_OF_EACH
        """Lines at the beginning of each of several logs that are compared."""

    def note(self, line: Line) -> None:
        if line.number > FIRST:
            self._last.append(line)
        elif line.number and (line.number <= self.of_each or len(self._first) < _KEPT):
            self._first.append(line)

    def once(self, what: str, count: int, find: Callable[[], Any]) -> Any:
        """The result of `find`, which is called once after so many lines."""
        known = self._asked.get(what)
        if known is None or known[0] != count:
            known = self._asked[what] = count, find()
        return known[1]

    def lines(self, is_single: bool, number: int) -> List[Line]:
        """Those that are read one by one in any case. `number` is that of a single log's last line."""
        if not is_single:
            return [line for line in self._first if line.number <= self.of_each]
        return self._first + [line for line in self._last if line.number > number - LAST]


def lines_of_each(logs: int) -> int:
    """The number of lines at the beginning of each of so many logs that are compared. They are read one by one: in more
    than 256 logs there are fewer of each, and about as many together."""
    return max(_LEAST_OF_EACH, min(FIRST_OF_EACH, _KEPT // max(1, logs)))


def first_numbers(of_each: int) -> Callable[[int, int], List[int]]:
    """The numbers of such lines in one of several logs, from a start to the one before an end."""
    return lambda start, end: list(range(start, min(end, of_each + 1)))
