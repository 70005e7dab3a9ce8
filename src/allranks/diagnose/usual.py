"""Lines that say nothing, at the beginning of a log, further on, and at its end. If lines after an error are
like those before it, the program went on as before. `docs/benchmarks.md` shows what this changes on public logs.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, List, Optional, Set, Tuple

from allranks.diagnose.counting import LAST, Counting
from allranks.diagnose.lines import Line
from allranks.diagnose.repeats import form_of

FIRST, WINDOW = 256, 16
"""Lines at the beginning of a log, from each power of two on, and at its end, that are kept."""

GOES_ON = 3
"""If so many lines after an error are like lines before it, the program went on as before."""

FORMS_KEPT = 2048
_LOOKED_AT = 160
LEAST_WORDS = 2
"""The least words of a line behind its prefix. A logger's name alone makes no two lines alike."""

_LEVEL = re.compile(r"\b(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|CRITICAL)\b")
LEVEL_WITHIN = 80
_PREFIX = re.compile(
    r"(?:[\s\]):|.,-]|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,6})?"
    r"|\[[^\]]{0,80}\]|\([^)]{0,80}\)){0,12}(?:[\w.]{1,80}(?::\d{1,6})?(?= - |:))?"
)
"""Marks and brackets before a message, and the name of a logger or a file."""

AGAIN = 2
"""At least one form must come this often among these lines. At the end of each run (`time`, a scheduler) every line
comes once."""

_AT_THE_END = ("wandb:", "srun:", "slurmstepd:")
"""The beginnings of lines that others print when a program has ended, however it did."""

_ENDED = re.compile(
    r"(?i)\bexit(?:ed|s)?(?: with)? (?:code|status):? ?-?[1-9]|\breturned -?[1-9]|\bcore dumped|\bkilled\b|\baborted\b"
    r"|\bError \d{1,3}$|\bnon-zero\b|\bfail(?:ed(?![=:] ?0\b)|ure)\b"
)
"""A line that says how a program ended. Then nothing went on."""


def is_kept(number: int) -> bool:
    """Whether the line with this number in its log belongs to the beginning, or to a window further on."""
    return number <= FIRST or number - (1 << (number.bit_length() - 1)) < WINDOW


def kept_in(start: int, end: int) -> List[int]:
    """The numbers of such lines, from `start` to the one before `end`."""
    windows = [
        (1, FIRST + 1),
        *((1 << n, (1 << n) + WINDOW) for n in range(FIRST.bit_length() - 1, end.bit_length())),
    ]
    return [number for first, last in windows for number in range(max(first, start), min(last, end))]


class Usual:
    """Of one log. `numbers` are those of lines in the log, from 1 on; `order` counts lines over all logs."""

    def __init__(self) -> None:
        self.number = 0
        """The last line that was read by itself."""
        self._forms: Dict[Tuple[str, ...], int] = {}
        """The first order of each form of a line."""
        self._last: Deque[Tuple[int, int, str]] = deque(maxlen=LAST)
        self._counting = Counting()

    def note(self, line: Line, order: int) -> None:
        """Notes a line that says nothing."""
        if not line.number:
            return
        self._counting.note(line, order)
        text = line.text[:_LOOKED_AT]
        self._last.append((line.number, order, text))
        if is_kept(line.number) and len(self._forms) < FORMS_KEPT:
            form = _form(text)
            if form:
                self._forms.setdefault(form, order)

    def note_step(self, line: Line, order: int) -> None:
        """Notes a step of the training."""
        if line.number:
            self._counting.note(line, order)

    def counts_on(self, after: int, rank: Optional[int], failed: bool = False) -> int:
        """The last line that counts on after this one, over all logs; 0 if none does, or if a line after it says how
        the program ended."""
        last = self._counting.last(after, rank, self.number, failed)
        return (
            0
            if not last or any(order > last and _ENDED.search(text) for _, order, text in self._last)
            else last
        )

    def steps_after(self, order: int, rank: Optional[int] = None) -> int:
        """How many lines of one rank, or of this one, count steps after this line, among the last ones of the log."""
        return self._counting.after(order, rank, self.number)

    def speakers(self) -> Set[int]:
        """The ranks that print lines with a bare number, and take turns (`(1) epoch 3`)."""
        return self._counting.speakers(self.number)

    def is_among_the_last(self, line: Line) -> bool:
        """Whether this line is one of the last ones of the log, each of which is looked at."""
        return line.number > self.number - LAST

    def lines_with(self, label: str) -> List[int]:
        """The lines over all logs, among the last ones of the log, that begin with this."""
        return [
            order
            for number, order, text in self._last
            if number > self.number - LAST and text.startswith(label)
        ]

    def after(self, first: int, last: int) -> int:
        """How many lines after `last`, among the last ones of the log, are like lines before `first`; 0 if no two of
        them are alike."""
        late = [text for number, order, text in self._last if number > self.number - LAST and order > last]
        if any(_ENDED.search(text) for text in late):
            return 0
        known = Counter(form for form in map(_form, late) if self._forms.get(form, first) < first)
        return sum(known.values()) if max(known.values(), default=0) >= AGAIN else 0


class Unknown(Usual):
    """Of a log of which only some lines are read one by one: nothing is known of its end."""

    def note(self, line: Line, order: int) -> None:
        """Notes nothing."""

    def note_step(self, line: Line, order: int) -> None:
        """Notes nothing."""


def _form(text: str) -> Tuple[str, ...]:
    """The first words of a line behind its prefix. It is empty for a line that says too little or is set in, for a bar,
    for a row of a table, and for what others print at a program's end."""
    if text[:1].isspace() or "|" in text or text.startswith(_AT_THE_END):
        return ()
    level = _LEVEL.search(text, 0, LEVEL_WITHIN)
    prefix = _PREFIX.match(text, level.end() if level else 0)
    found = form_of(text[prefix.end() if prefix else 0 :])
    return found if len(found) >= LEAST_WORDS else ()
