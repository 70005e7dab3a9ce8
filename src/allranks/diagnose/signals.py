"""Signals, and the one ranking that judges them.

Events and log lines both become signals: a cause with its weight on the scale of `symptom.py`, its place and its time.
The logs of any job give signals of their lines (`ranking.py`). A run of allranks has signals of its events as well
(`monitor/verdict.py`). `ranked` judges both: the heaviest signal says who failed, and the text of that place says why.
"""

from __future__ import annotations

from typing import Callable, Iterable, NamedTuple, Optional, Tuple

from allranks.core import Diagnosis
from allranks.core.causes import UNPROVEN
from allranks.diagnose.catalogue import cause
from allranks.diagnose.symptom import STRONG

EVIDENCE_LINES = 12


class Signal(NamedTuple):
    """The sign of a failure in lines or events. The diagnosis holds the cause, the place and the evidence. `weight` is
    on the scale of `symptom.py`. `at` orders signals of one weight, in seconds."""

    weight: int
    diagnosis: Diagnosis
    at: float = 0.0

    @property
    def proven(self) -> bool:
        """Whether no line of another rank can weigh as much."""
        return self.weight > STRONG

    @property
    def says_why(self) -> bool:
        """Whether it names a reason, and not only how something ended."""
        return cause(self.diagnosis.cause).says_why


def order(weight: int, at: "float | Tuple[float, int]") -> "Tuple[int, float | Tuple[float, int]]":
    """The key of the ranking: the heaviest first, of one weight the earliest."""
    return -weight, at


def heaviest(signals: Iterable[Signal]) -> Optional[Signal]:
    """The one that counts; of equal ones the earliest, of those the first."""
    return min(signals, key=lambda one: order(one.weight, one.at), default=None)


class Texts(NamedTuple):
    """The signals of the texts, read only if the ranking asks. `of_run`: all logs together. `of_place`: the texts of
    the rank and the node that a signal names, the nearest first."""

    of_run: Callable[[], Signal]
    of_place: "Callable[[Signal], Iterable[Signal]]" = lambda _: ()


def ranked(events: Iterable[Signal], texts: Texts) -> Signal:
    """The judgement of a run: the heaviest of the events, with the reason that the texts of its place give. If they
    give none and the events do not prove it, the heavier one of it and all texts."""
    who = heaviest(events)
    if who is None:
        return texts.of_run()
    for reason in texts.of_place(who):
        if reason.says_why:
            return who._replace(diagnosis=joined(who.diagnosis, reason.diagnosis))
    return who if who.proven else _heavier(who, texts.of_run())


def _heavier(who: Signal, text: Signal) -> Signal:
    """The heavier one. A text that shows how the run ended, but not why, counts only if it names the rank that began
    it."""
    where, known = text.diagnosis.where, cause(text.diagnosis.cause)
    begun = where.rank is not None and known.names_the_first
    if text.weight <= who.weight or not (text.says_why or begun):
        return who
    placed = where.rank is not None or (known.kernel is not None and where.node is not None)
    if placed or who.diagnosis.cause == UNPROVEN:
        return text
    return text._replace(diagnosis=joined(who.diagnosis, text.diagnosis))


def joined(who: Diagnosis, why: Diagnosis) -> Diagnosis:
    """One diagnosis from two: the place and the time of the first, the cause of the second."""
    return Diagnosis(
        cause=why.cause,
        confidence=why.confidence,
        where=why.where if who.where.node is None and who.where.rank is None else who.where,
        first_seen=who.first_seen,
        evidence=tuple(dict.fromkeys((*who.evidence, *why.evidence)))[:EVIDENCE_LINES],
        collateral=who.collateral,
        why=why.why,
        fix=why.fix,
    )
