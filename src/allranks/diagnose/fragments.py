"""What is left of a crash in a text that was cut: the exception without its traceback, or the reverse."""

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
    ends = [
        one for one in (*seen.ranks.values(), *seen.streams.values()) if one.cut and one.traceback != CLOSED
    ]
    last = [one.cut for one in ends if one.ignored == NOT_IGNORED and one.lines - one.headed <= CUT_WITHIN]
    told = [r for r in last if r is not None and not seen.survived(r) and (r.kind or len(r.frames) > 1)]
    return sorted((r for r in told if not any(map(_OF_OTHERS.search, r.frames))), key=lambda r: r.order)
