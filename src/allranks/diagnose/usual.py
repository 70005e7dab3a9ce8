"""Lines that say nothing, at the beginning of a single log, further on, and at its end. If lines after an error are
like those before it, the program went on as before. `docs/benchmarks.md` shows what this changes on public logs.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from typing import Deque, Dict, List, Tuple

from allranks.diagnose.lines import Line

FIRST, WINDOW, LAST = 256, 16, 64
"""Lines at the beginning of a log, from each power of two on, and at its end, that are kept."""

GOES_ON = 3
"""Lines after an error that are like lines before it, from which on the program went on as before."""

FORMS_KEPT = 2048
_LOOKED_AT = 160
_PARTS = 6
_PART = re.compile(r"[^\W\d_]{2,40}|[^\w\s]")
_LETTERS = 4
"""The least letters of a line that says anything."""

AGAIN = 2
"""So often one form comes among these lines. At the end of each run (`time`, a scheduler) every line comes once."""

_AT_THE_END = ("wandb:", "srun:", "slurmstepd:")
"""The beginnings of lines that others print when a program has ended, however it did."""


def is_kept(number: int) -> bool:
    """Whether the line with this number in its log belongs to the beginning, or to a window further on."""
    return number <= FIRST or number - (1 << (number.bit_length() - 1)) < WINDOW


def kept_in(start: int, end: int) -> List[int]:
    """Those from `start` to `end`, without `end`."""
    windows = [
        (1, FIRST + 1),
        *((1 << n, (1 << n) + WINDOW) for n in range(FIRST.bit_length() - 1, end.bit_length())),
    ]
    return [number for first, last in windows for number in range(max(first, start), min(last, end))]


class Usual:
    """Of a single log. `numbers` are those of lines in the log, from 1 on; `order` counts lines over all logs."""

    def __init__(self) -> None:
        self.is_single = True
        self.number = 0
        """The last line that was read by itself."""
        self._forms: Dict[Tuple[str, ...], int] = {}
        """The first order of each form of a line."""
        self._last: Deque[Tuple[int, int, str]] = deque(maxlen=LAST)

    def note(self, line: Line, order: int) -> None:
        """Notes a line that says nothing."""
        if not self.is_single or not line.number:
            return
        text = line.text[:_LOOKED_AT]
        self._last.append((line.number, order, text))
        if is_kept(line.number) and len(self._forms) < FORMS_KEPT:
            form = _form(text)
            if form:
                self._forms.setdefault(form, order)

    def after(self, first: int, last: int) -> int:
        """How many lines after `last`, among the last ones of the log, are like lines before `first`; 0 if no two of
        them are alike."""
        if not self.is_single:
            return 0
        late = [text for number, order, text in self._last if number > self.number - LAST and order > last]
        known = Counter(form for form in map(_form, late) if self._forms.get(form, first) < first)
        return sum(known.values()) if max(known.values(), default=0) >= AGAIN else 0


def _form(text: str) -> Tuple[str, ...]:
    """The first words and marks of a line without its numbers; empty for a line that says too little, for one that
    is set in, as code in a traceback is, and for what others print at a program's end."""
    if text.startswith(("    ", *_AT_THE_END)) or sum(map(str.isalpha, text)) < _LETTERS:
        return ()
    return tuple(_PART.findall(text)[:_PARTS])
