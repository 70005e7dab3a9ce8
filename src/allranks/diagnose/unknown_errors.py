"""Errors that no pattern, claim or subject knows: the cause whose sentences come nearest (`wordings.py`)."""

from __future__ import annotations

import re
from typing import Dict, Iterator, List, Optional, Tuple

from allranks.diagnose.catalogue import cause, nearest
from allranks.diagnose.complaints import near_the_end
from allranks.diagnose.digits import ALIKE_TEXT
from allranks.diagnose.evidence import LATER_STEPS, Evidence
from allranks.diagnose.fragments import SHORT, quoted
from allranks.diagnose.lines import Line
from allranks.diagnose.symptom import WORDS, Case, Hit

_NAMED = re.compile(r"[A-Za-z](?:Error|Exception)(?![A-Za-z])")
"""An exception that is only mentioned: if it ended something, it is among those that are quoted."""

_WARNS = re.compile(r"(?:^|[\s:\[])W(?:\d{3,4})?[ ]")

_FRAME = re.compile(r"\s{0,40}File \".{1,400}\", line \d{1,7}")
"""Where something was raised. It does not say what."""

MOST = 200
"""Texts that are compared with all sentences, which takes some 10 ms for each."""

NOTE = "No pattern matches this error. It reads most like this cause."


def likeliest(crashed: str, *texts: str) -> Iterator[str]:
    """The cause that the first of these texts comes near to, if it says more than that a program `crashed`."""
    for text in texts:
        found = nearest(text) if text and _FRAME.match(text) is None else None
        if found is not None:
            if found.cause != crashed and not cause(found.cause).healthy:
                yield found.cause
            return


ABSENT_PLUGIN = "libnccl-net.so"
"""NCCL has its own network and goes on without it."""


def by_words(seen: Evidence, crashed: str) -> Optional[Case]:
    """The case of the error near the end, or of any line of a short text, whose words say most."""
    if seen.ended_well or seen.is_document:
        return None
    found = [
        (one, place)
        for one, place in ((nearest(place[0].text), place) for place in _different(_places(seen)))
        if one and ABSENT_PLUGIN not in place[0].text
    ]
    if not found:
        return None
    told, (line, order, steps) = max(found, key=lambda pair: (pair[0].lead, -pair[1][1]))
    if cause(told.cause).healthy or told.cause == crashed:
        return None
    hit = Hit(told.cause, WORDS, line, order, seen.now(line), steps)
    return Case(told.cause, WORDS, (hit,), "likely", notes=(NOTE,))


def _different(places: List[Tuple[Line, int, int]]) -> List[Tuple[Line, int, int]]:
    """At most MOST of them: of those that differ in digits alone the first, since ranks repeat each other's errors."""
    if len(places) <= MOST:
        return places
    found: Dict[str, Tuple[Line, int, int]] = {}
    for place in places:
        found.setdefault(place[0].text.translate(ALIKE_TEXT), place)
    return list(found.values())[:MOST]


def _places(seen: Evidence) -> List[Tuple[Line, int, int]]:
    """(line, its number over all sources, the steps before it) of what may be the reason of the end."""
    streams = (*seen.ranks.values(), *seen.streams.values())
    heard = [one for one in near_the_end(streams, seen.count) if _NAMED.search(one.line.text) is None]
    found = [(one.line, one.order, one.steps) for one in heard if seen.later_steps(one) < LATER_STEPS]
    raised = quoted(seen)
    if seen.count <= SHORT and not seen.steps:
        raised += [told.raised for stream in streams for told in stream.stated]
    found += [(one.line, one.order, one.steps) for one in raised if not seen.survived(one)]
    ends = {id(one.line) for one in seen.exits}  # what the end of a process proves is judged elsewhere
    return [
        place for place in found if id(place[0]) not in ends and _WARNS.search(place[0].text, 0, 80) is None
    ]
