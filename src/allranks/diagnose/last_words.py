"""The last lines of a log, in which a program says that it failed."""

from __future__ import annotations

from typing import Optional

from allranks.diagnose.closings import says_failed, stops_early
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import SHORT, announces, of_others
from allranks.diagnose.repeats import was_survived
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.survival import LAST_LINES
from allranks.diagnose.symptom import WORDS, Case, Hit

NOTE = "the program ends with these words and shows no traceback"


def last_words(seen: Evidence, crashed: str) -> Optional[Case]:
    """The case of a program that `crashed` according to nothing but its own last lines."""
    if seen.ended_well or seen.is_document or seen.count <= SHORT:
        return None
    told = [
        one
        for stream in (*seen.ranks.values(), *seen.streams.values())
        for one in stream.stated
        if not was_survived(stream.repeats, one.raised.line.text, stream.lines)
        and seen.sources[one.raised.line.source].last - one.raised.order < LAST_LINES
        and says_failed(one.raised.line.text, one.sure)
        and not stops_early(one.raised.line.text)
        and not (is_source(one.raised.line.text) or of_others(one.raised.line.text))
        and not seen.survived(one.raised)
    ]
    if not told:
        return None
    raised = min(told, key=lambda one: (announces(one.raised.line.text), one.raised.order)).raised
    hit = Hit(crashed, WORDS, raised.line, raised.order, raised.at, raised.steps)
    return Case(crashed, WORDS, (hit,), "likely", notes=(NOTE,))
