"""The shapes of lines: the patterns and facts that lines of a shape may hold. Digits make no difference."""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, NamedTuple, Tuple

from allranks.diagnose import dumped_stacks, facts, going_on, leavers, ports, sections
from allranks.diagnose.catalogue import index
from allranks.diagnose.complaints import complains
from allranks.diagnose.digits import ALIKE
from allranks.diagnose.progress import behind_bar, is_progress
from allranks.diagnose.quotes import NO, inside
from allranks.diagnose.set_aside import is_prose, is_set_aside, warns
from allranks.diagnose.streams import A_FRAME, A_TRACEBACK, CODE, EXCEPTION, TITLE, heading_of
from allranks.diagnose.symptom import Pattern

SHAPES_KEPT = 32768
"""Distinct shapes of lines remembered; if a log has more, all are forgotten and found again."""

SHAPE_LIMIT = 512
_STOPS = re.compile(
    r"(?:[A-Za-z_]\w{0,60}\.){1,8}\w{0,40}(?:StopTraining|Stopped|Aborted|Diverged|Failed): "
    r"|(?:[A-Za-z_]\w{0,60}\.){0,8}(?=[A-Z])\w{0,40}?(?:No[nt]Finite|Na[Nn]|Diverge|Explo|Invalid|Unstable)\w{0,40}: "
)
"""An exception whose name does not end in Error, and whose message may name a step and its loss."""
_ONLY_TOLD = (
    *dumped_stacks.HANDLERS,
    *going_on.HANDLERS,
    *leavers.HANDLERS,
    *ports.HANDLERS,
    *sections.HANDLERS,
)
_LETTERS = bytes(b if 0x41 <= b <= 0x5A or 0x61 <= b <= 0x7A else 0x20 for b in range(256))


class Shape(NamedTuple):
    """The properties that lines share if they differ in digits alone."""

    progress: bool
    exception: bool
    heading: str
    patterns: Tuple[Tuple[str, Pattern], ...]
    facts: Tuple[Tuple[facts.Finder, Callable[..., None]], ...]
    quotes: int = NO
    """Whether such a line quotes an exception (`quotes.py`)."""
    complains: int = NO
    """Whether such a line reports a failure (`complaints.py`)."""
    warns: bool = False
    """Whether its patterns are those of a warning."""
    only_told: bool = False
    """Whether it is plain text but for a program that says that it goes on, or a rank that leaves."""

    @property
    def says_nothing(self) -> bool:
        """Whether such a line counts only as a step, as plain text, or as the end of a traceback."""
        return not (self.heading or self.patterns or self.facts or self.quotes or self.complains)

    @property
    def of_comment(self) -> "Shape":
        """The same shape for a line of a program, which says nothing."""
        less = self._replace(patterns=(), quotes=NO, complains=NO)
        return PLAIN if less == PLAIN else less

    @property
    def is_frame(self) -> bool:
        """Whether such a line is a frame of a traceback and nothing else."""
        return self == _FRAME

    @property
    def is_heading(self) -> bool:
        """Whether such a line heads a traceback and is nothing else."""
        return self == _HEADING


_FRAME = Shape(False, False, A_FRAME, (), ())
_HEADING = Shape(False, False, A_TRACEBACK, (), ())
PLAIN = Shape(False, False, "", (), ())
STEP = Shape(True, False, "", (), ())


class Shapes:
    """The shapes of lines, each found once."""

    def __init__(self) -> None:
        self._known: Dict[bytes, Shape] = {}
        self._symptoms = {word.encode(): found for word, found in index().items()}
        self._facts = {word.encode(): found for word, found in facts.by_word().items()}
        self._keys = frozenset(self._symptoms) | frozenset(self._facts)

    def of(self, text: str) -> Shape:
        raw = text.encode("utf-8", "surrogatepass")
        if len(text) > SHAPE_LIMIT:
            return self._classify(text, raw)
        key = raw.translate(ALIKE)
        shape = self._known.get(key)
        if shape is None:
            if len(self._known) >= SHAPES_KEPT:
                self._known.clear()
            shape = self._known[key] = self._classify(text, key)
        return shape

    def _classify(self, text: str, raw: bytes) -> Shape:
        """The common properties of all lines of this shape. Nothing here may depend on a digit's value."""
        words = raw.translate(_LETTERS).split()
        keys = self._keys.intersection(words)
        patterns = tuple(p for w in keys for p in self._symptoms.get(w, ()) if p[1].may_stand_in(text))
        titled = text[len(TITLE) :] if text.startswith(TITLE) else text
        if patterns and CODE.match(titled) is not None:
            patterns = ()
        known: Tuple[Any, ...] = tuple(
            f for w in keys for f in self._facts.get(w, ()) if f[0].may_stand_in(text)
        )
        known += tuple(fact for fact in facts.IN_ANY_LINE if fact[0].find(text) is not None)
        exception = EXCEPTION.match(text) is not None
        heading = heading_of(text)
        progress = not (exception or _STOPS.match(text)) and is_progress(text, words)
        if progress:
            known = tuple(fact for fact in known if fact[1] not in _ONLY_TOLD)
        quotes = NO if exception or heading or progress else inside(titled)[0]
        said = behind_bar(text) if progress else titled
        complaint = NO if exception or heading or not said else complains(said, words)
        if (patterns or quotes or complaint) and not exception and is_set_aside(text):
            patterns, quotes, complaint = (), NO, NO
        elif (quotes or complaint) and is_prose(text):
            quotes, complaint = NO, NO
        if not (patterns or known or exception or heading or quotes or complaint):
            return STEP if progress else PLAIN
        is_warning = bool(patterns) and warns(text)
        told = Shape(progress, exception, heading, patterns, known, quotes, complaint, is_warning)
        if told._replace(facts=()) == PLAIN and all(handler in _ONLY_TOLD for _, handler in known):
            return told._replace(only_told=True)
        return told
