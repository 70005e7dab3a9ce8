"""The last lines of a log, in which a program says that it failed."""

from __future__ import annotations

from typing import Optional

from allranks.diagnose.closings import says_failed
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import SHORT, announces, of_others
from allranks.diagnose.repeats import form_of
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.streams import Quoted, Seen
from allranks.diagnose.survival import LAST_LINES
from allranks.diagnose.symptom import WORDS, Case, Hit

NOTE = "the program ends with these words and shows no traceback"

ALIKE, TIMES = 2, 3
"""So many first words are equal in two statements of one kind, and so many of a kind are said of single items."""


def _was_survived(stream: Seen, told: Quoted) -> bool:
    """Whether the stream said the same before, and went on."""
    kind = form_of(told.raised.line.text)[:ALIKE]
    alike = [one.number for one in stream.stated if form_of(one.raised.line.text)[:ALIKE] == kind]
    return sum(told.number - number > 1 for number in alike) >= TIMES


def last_words(seen: Evidence, crashed: str) -> Optional[Case]:
    """The case of a program that `crashed` according to nothing but its own last lines."""
    if seen.ended_well or seen.is_document or seen.count <= SHORT:
        return None
    told = [
        one
        for stream in (*seen.ranks.values(), *seen.streams.values())
        for one in stream.stated
        if not _was_survived(stream, one)
        and seen.sources[one.raised.line.source].last - one.raised.order < LAST_LINES
        and says_failed(one.raised.line.text, one.sure)
        and not (is_source(one.raised.line.text) or of_others(one.raised.line.text))
        and not seen.survived(one.raised)
    ]
    if not told:
        return None
    raised = min(told, key=lambda one: (announces(one.raised.line.text), one.raised.order)).raised
    hit = Hit(crashed, WORDS, raised.line, raised.order, raised.at, raised.steps)
    return Case(crashed, WORDS, (hit,), "likely", notes=(NOTE,))
