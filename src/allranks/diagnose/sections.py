"""Headings that a script prints before each of its trials, and the last line of a program of tests."""

from __future__ import annotations

from typing import Any, Callable, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

_TRIALS = ("trial", "Trial", "TRIAL", "fold", "Fold", "experiment", "Experiment")
_TRIAL = (
    r"(?i)^(?:\[I [\d: ,.-]{10,30}\] |\[[a-z][\w -]{1,20}\] )?\W{0,40}"
    r"(?:trial|fold|experiment)[ =:#]{1,3}(?P<number>\d{1,6})\b"
)
_SESSION = r"^={1,80} test session starts ={1,80}$"
_PASSED = (
    r"^={1,80} (?!.{0,120}\b[1-9]\d{0,5} (?:failed|errors?)\b)(?:.{0,60}, )?\d{1,6} passed\b.{0,80} in \d.{0,40}"
    r" ={1,80}$"
)


def _begins(seen: Store, line: Line, match: Any) -> None:
    """Keeps a heading whose number is not lower than that of the one before."""
    source, number = seen.sources[line.source], int(match.group("number"))
    first, last, _, _ = source.trial
    if number >= last or not first:
        source.trial = first or seen.count, number, seen.count, source.steps


def _session(seen: Store, line: Line, match: Any) -> None:
    seen.sources[line.source].session = seen.count


def _passed(seen: Store, line: Line, match: Any) -> None:
    source = seen.sources[line.source]
    if source.session and len(source.sessions) < SESSIONS_KEPT:
        source.sessions.append((source.session, seen.count))
    source.session = 0


SESSIONS_KEPT = 16

FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = (
    *((Pattern(word, _TRIAL), _begins) for word in _TRIALS),
    (Pattern("test session starts", _SESSION), _session),
    (Pattern(" passed", _PASSED), _passed),
)
HANDLERS = (_begins, _session, _passed)
