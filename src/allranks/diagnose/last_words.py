"""The last lines of a log, in which a program says that it failed."""

from __future__ import annotations

import re
from typing import Optional

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import SHORT, announces, of_others
from allranks.diagnose.repeats import form_of
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.streams import Quoted, Seen
from allranks.diagnose.survival import LAST_LINES
from allranks.diagnose.symptom import WORDS, Case, Hit

NOTE = "the program ends with these words and shows no traceback"

_FAILS = re.compile(
    r"(?i)\b(?:failed|fails|failure|fatal|crash(?:ed|es)|panic(?:ked)?|went wrong|severe|non-zero)\b"
    r"|(?<![-_/.])\b(?:error|exception)\b(?![-_/.\w])"
)
_MEASURED = re.compile(
    r"(?i)\b(?:failed|failures?|errors?|exceptions?)\b\W{0,6}\d"
    r"|(?:^|[\s(:=])\d{1,9} (?:\w{1,20} )?(?:failed|failures?|errors?|exceptions?)\b"
    r"|\b(?:no|without|zero) (?:\w{1,20} )?(?:failures?|errors?|exceptions?)\b"
    r"|\berror (?:rates?|bars?|margins?|analysis|logs?|counts?|handling|messages?)\b"
    r"|\b(?:mean|squared|absolute|percentage|relative|average|rms|root|test|train\w{0,3}|val\w{0,7}|median|max\w{0,4}"
    r"|word|character|approximation|reconstruction|prediction|standard|std) errors?\b"
)
"""Numbers of failures, and errors that are measured."""


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
        and (one.sure or _FAILS.search(one.raised.line.text) is not None)
        and _MEASURED.search(one.raised.line.text) is None
        and not (is_source(one.raised.line.text) or of_others(one.raised.line.text))
        and not seen.survived(one.raised)
    ]
    if not told:
        return None
    raised = min(told, key=lambda one: (announces(one.raised.line.text), one.raised.order)).raised
    hit = Hit(crashed, WORDS, raised.line, raised.order, raised.at, raised.steps)
    return Case(crashed, WORDS, (hit,), "likely", notes=(NOTE,))
