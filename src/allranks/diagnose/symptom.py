"""The parts of a symptom's file: patterns to look for, and the case that a file may state of a log.

A file under `symptoms/` is a module with
- a docstring: its page (`core/pages.py`); its first paragraph is the title, "Why it matters" and "What to do" are
  printed with the diagnosis;
- `PATTERNS`, and if lines of several ranks must be compared `judge(evidence)`;
- `CLAIM`, if exceptions that no pattern knows belong to it (`claims.py`);
- `COMPLAINT`, if other programs' complaints that no pattern knows belong to it (`complaints.py`);
- sentences in which others could report it, in a text file of its name beside it (`wordings.py`);
- `CAUSE`, if it is more than a text (`core/causes.py`): the causes that it explains, whether a restart helps;
Its id is the file's name with `-` for `_`. Its cases are in `tests/diagnose/cases/`.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional, Tuple
from typing import Pattern as Regex

from allranks.diagnose.digits import values_matter
from allranks.diagnose.lines import Line

# Weights: a heavier statement wins over an earlier, lighter one. They only order the kinds of statements.
PROVEN = 103
"""The report of a device itself. It wins over any earlier strong text."""
STRONG = 100
"""A text that only this cause prints."""
CRASH = 70
"""An exception or a signal that no other symptom knows."""
BARE = 56
"""An exception without a traceback, as people quote it and as programs print it that handled it. If a pattern knows it,
it weighs more (`bare`)."""
WEAK = 55
"""A text that often appears with this cause, or a warning of it."""
DUMPED = WEAK + 3
"""Stacks in which only one process does not wait for others."""
ENDED = 45
"""The launcher, the scheduler or a peer ended the process: a cause only if there is no other."""
ECHO = 30
"""Ranks that blame each other."""
HEARD, HINTED = 28, 21
"""A complaint that no pattern knows, about a special or a general subject of this cause."""
CUT = 22
"""A traceback whose exception was cut off: any other text says more."""
WORDS = 15
"""A statement in plain words, whose subject tells the cause."""
STALE = 10
"""Any of the above, if the training continued for many steps after it."""
NOISE = 1
"""Progress: a cause only if there is no other statement."""

# Events prove more than any line. The most certain comes first.
WITNESSED = 140
"""allranks compared the states of all ranks before it stopped anything. A kill elsewhere that ended the wait is more
certain."""
GONE = 130
"""A node was silent before any rank had a problem."""
SEEN = 120
"""An exception that a rank reported, or a signal that allranks did not send."""
LOST = 110
"""A lost node."""
LEFT = CRASH + 1
"""A rank ended with exit code 0 before the last step. Only a text that names a reason is heavier."""


CLOSE = 15
"""Hits this much lighter than the heaviest still belong to the same statement, and keep their place in time."""

NO_TIME = float("inf")
"""The time of a line before which no time stamp stands."""


def is_warning(weight: int) -> bool:
    """Whether a text of this weight only warns of its cause or echoes another rank's."""
    return weight <= _BARE_MOST and not ENDED - 5 <= weight <= ENDED


_BARE_MOST = 63


def bare(weight: int) -> int:
    """The weight of a pattern that must be raised, in an exception without a traceback: above every warning, below
    everything that was raised, and in the patterns' order."""
    return min(weight, max(BARE + 1, min(BARE + 1 + (weight - CRASH) // 5, _BARE_MOST)))


class Pattern:
    """A literal and, if it is not enough, an expression. The literal must not contain a digit: lines that differ only
    in digits are looked up together, so a literal with digits could be missed. The expression may contain digits.

    `raised`: the pattern has its full weight only in the last line of a traceback, and else counts as a warning.
    `without`: texts that must not be in the same line. `frame`: a function and a part of its file's path; a frame with
    both counts as a match in an exception that a rank reported as data.
    """

    __slots__ = ("_expression", "_regex", "_sure", "frame", "key", "literal", "raised", "weight", "without")

    def __init__(
        self,
        literal: str,
        regex: "str | None" = None,
        weight: int = STRONG,
        raised: bool = False,
        without: Tuple[str, ...] = (),
        frame: Tuple[str, str] = ("", ""),
    ) -> None:
        self.literal, self.weight, self.raised, self.without = literal, weight, raised, without
        self.frame = frame
        self._expression = regex
        self._regex: Optional[Regex[str]] = None
        self.key = _key_word(literal)
        self._sure = not (values_matter(regex or "") or any(c.isdigit() for c in "".join(without)))

    @property
    def regex(self) -> "Optional[Regex[str]]":
        """Compiled when a text needs it: that of all patterns takes longer than a small log."""
        if self._regex is None and self._expression:
            self._regex = re.compile(self._expression)
        return self._regex

    def may_stand_in(self, text: str) -> bool:
        """Whether it can be found in this text or in one that differs from it in digits alone."""
        return self.literal in text and not (self._sure and self.find(text) is None)

    def find(self, text: str) -> "Optional[re.Match[str] | bool]":
        """The match; True if there is only a literal; None if the text does not match."""
        if self.literal not in text or any(other in text for other in self.without):
            return None
        regex = self.regex
        return True if regex is None else regex.search(text)


_WORD = re.compile(r"[A-Za-z]{1,80}")


def _key_word(literal: str) -> str:
    """The word by which lines are looked up: the longest that lies inside, since glued lines spoil the ends."""
    words = [m for m in _WORD.finditer(literal) if len(m.group()) >= 3]
    inside = [m for m in words if m.start() > 0 and m.end() < len(literal)]
    chosen = max(inside or words, key=lambda m: len(m.group()), default=None)
    if chosen is None:
        raise ValueError(f"literal {literal!r} holds no word of three letters to look it up by")
    return chosen.group()


class Hit(NamedTuple):
    """One place where a pattern was found. `order` counts lines over all sources; `at` is the last time stamp
    seen in that source, in seconds since the year's start, None where there was none; `start` is where in the line the
    pattern was found."""

    symptom: str
    weight: int
    line: Line
    order: int
    at: Optional[float]
    steps: int
    groups: Tuple[Tuple[str, str], ...] = ()
    start: int = 0
    warned: bool = False
    """Python or glog printed the line as a warning."""
    ignored: bool = False
    """The line ends an exception that Python announced to ignore."""

    def group(self, name: str) -> Optional[str]:
        return dict(self.groups).get(name)


class Case(NamedTuple):
    """The statement of a symptom about a log. `hits` are its evidence, the earliest first. `rank` and `node` name the
    culprit if the lines' own places do not."""

    symptom: str
    weight: int
    hits: Tuple[Hit, ...]
    confidence: str = "certain"
    rank: Optional[int] = None
    node: Optional[str] = None
    why: str = ""
    notes: Tuple[str, ...] = ()
    collateral: Optional[Tuple[int, ...]] = None
    only_suffered: bool = False
    """The ranks of these lines only suffered: without `rank` or `node`, none is the culprit."""
