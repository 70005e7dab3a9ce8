"""Log lines of many ranks in, one cause out. Pure: it opens no file, and takes its lines as a stream.

    diagnose(parse(text, source="rank-3.log"))

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

from typing import Iterable

from allranks.core import Diagnosis
from allranks.core.callable_room import make_callable
from allranks.diagnose.catalogue import cause, ids, modules, page, title
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.lines import Line, clean, parse, read, split
from allranks.diagnose.ranking import conclude, others, weighed
from allranks.diagnose.signals import Signal, Texts, heaviest, ranked
from allranks.diagnose.streams import Told

make_callable(__name__)

__all__ = [
    "Evidence", "Line", "Signal", "Texts", "Told", "cause", "clean", "conclude", "diagnose", "heaviest", "ids",
    "modules", "others", "page", "parse", "ranked", "read", "split", "title", "weighed",
]  # fmt: skip


def diagnose(lines: Iterable[Line]) -> Diagnosis:
    """The cause that these lines show: an id of the catalogue, or `unproven`. `benign-noise`: nothing is wrong."""
    seen = Evidence()
    for line in lines:
        seen.add(line)
    return conclude(seen)
