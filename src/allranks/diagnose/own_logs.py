"""Jobs of a few logs, one of each rank: whether every program went on after what it logged.

One rank that goes on proves little if another one failed: it may have lost the thread that fed it. So all exceptions of
the job have to be such.
"""

from __future__ import annotations

from typing import Union

from allranks.diagnose.alone import ALONE_SHARE
from allranks.diagnose.late_output import ended_its_program
from allranks.diagnose.reached import STEPS_AGAIN, Reached, is_failure
from allranks.diagnose.streams import Raised, Seen
from allranks.diagnose.symptom import Hit
from allranks.diagnose.usual import GOES_ON


def all_went_on(seen: Reached, hit: Union[Hit, Raised]) -> bool:
    """Whether the program with this log of its own went on after this, and all others after their exceptions."""
    if seen.is_single or not seen.reads_ends or not _went_on(seen, hit):
        return False
    every: bool = seen.samples.once("went on", seen.count, lambda: _nobody_failed(seen))
    return every


def _nobody_failed(seen: Reached) -> bool:
    streams = (*seen.ranks.values(), *seen.streams.values())
    if seen.failed or any(one.is_cut for one in streams):
        return False
    told = [one.raised for stream in streams for one in (*stream.quoted[-1:], *stream.stated[-1:])]
    hits = (hit for found in seen.hits.values() for hit in found if is_failure(hit))
    return all(_went_on(seen, one) for one in (*told, *hits, *(one for _, one in seen.raised())))


def _went_on(seen: Reached, hit: Union[Hit, Raised]) -> bool:
    """Whether the log counts on after this, or ends with lines like those before it."""
    source, stream = seen.sources[hit.line.source], seen.seen_of(hit.line)
    raised = seen.raised_at(hit)
    if not _is_its_own(stream, hit, source.lines) or (raised is not None and raised.of_thread):
        return False
    if stream.is_cut_after(hit.order) or ended_its_program(seen, hit):
        return False
    told = [*stream.raised[-1:], *(one.raised for one in stream.stated[-1:])]
    last = max([hit.order, *(one.order for one in told)])
    is_raised = raised is not None or any(one.order > hit.order for one in stream.raised[-1:])
    if is_raised and source.usual.steps_after(last) >= STEPS_AGAIN:
        return True  # CPython writes what it has buffered before a traceback, except those of `ended_its_program`
    return source.usual.counts_on(last, None, True) > 0 or source.usual.after(last, last) >= GOES_ON


def _is_its_own(stream: Seen, hit: Union[Hit, Raised], lines: int) -> bool:
    """Whether nearly all lines of the log are one program's."""
    return stream.source == hit.line.source and stream.lines >= ALONE_SHARE * lines
