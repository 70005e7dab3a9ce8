"""Crashes of which a text holds only a part: the exception without its traceback, or the reverse."""

from __future__ import annotations

import re
from typing import List

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.streams import CLOSED, NOT_IGNORED, Raised

CUT_WITHIN = 8
NEAR_THE_END = 40
"""Lines of the same stream after an exception without a traceback. If more follow, the program had handled it."""

_OF_OTHERS = re.compile(
    r"/bin/|/torch/distributed/(?:elastic|run\.py|launch|distributed_c10d)|/accelerate/commands/|deepspeed/launcher/"
    r"|/ray/(?:_private|dashboard|scripts)|/subprocess\.py|\.exe/|runpy\.py"
)


def quoted(seen: Evidence) -> List[Raised]:
    """Exceptions without a traceback that no training and not much else followed, in order. One that is only mentioned
    counts in a short text."""
    if seen.ended_well:
        return []
    every = [(one, told) for one in (*seen.ranks.values(), *seen.streams.values()) for told in one.quoted]
    last = [
        told.raised
        for one, told in every
        if one.lines - told.number <= NEAR_THE_END and not seen.survived(told.raised)
        if told.sure or seen.count <= NEAR_THE_END
    ]
    return sorted(last, key=lambda r: r.order)


def cut_off(seen: Evidence) -> List[Raised]:
    """Tracebacks at the end of a log, in order, whose exception is missing. A launcher's does not count, nor that of a
    rank in a collective: it may only have lost a peer."""
    if seen.ended_well or seen.raised():
        return []
    told: List[Raised] = []
    for one in (*seen.ranks.values(), *seen.streams.values()):
        if one.cut is None or one.traceback == CLOSED or one.ignored != NOT_IGNORED:
            continue
        named, line, order, steps = one.cut
        raised = Raised("", line, order, None, False, (), steps, one.frames)
        near = one.lines - one.headed <= CUT_WITHIN and (named or len(one.frames) > 1)
        if near and not seen.survived(raised) and not any(map(_OF_OTHERS.search, one.frames)):
            told.append(raised)
    return sorted(told, key=lambda r: r.order)
