"""Crashes of which a text holds only a part: the exception without its traceback, or the reverse."""

from __future__ import annotations

import re
from typing import Iterator, List, Optional

from allranks.diagnose.catalogue import claims
from allranks.diagnose.claims import claimants
from allranks.diagnose.complaints import OF_CODE, is_warning
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.source_lines import is_source
from allranks.diagnose.store import MARKS
from allranks.diagnose.streams import CUT_WITHIN, Raised
from allranks.diagnose.symptom import WORDS, Case, Hit

OF_IPYTHON = 14
"""Lines after the last frame as IPython prints it, with ten lines of the source."""

NEAR_THE_END = 40
"""Lines of the same stream after an exception without a traceback. If more follow, the program had handled it."""

SHORT = 24
"""Lines of a text that is about what its lines say."""

ALONE, MESSAGE_WORDS = 3, 3
"""Lines and words of a text that is nothing but the message of an exception, as a title is."""

OF_TITLED = 3
"""A text with a title may have so many times the marks that make it a document: people mark what they quote."""

_RUNTIMES = re.compile(r"(?i:\b(?:cuda|nccl|hip|xla|errno|driver|signal|socket|connect\w{0,4})\b)")
_OF_RUNTIMES = re.compile(r"Error|" + _RUNTIMES.pattern)
"""Named in other programs' messages."""

_OF_CODE = re.compile(
    r"(?<![A-Za-z])(?:Assertion|Attribute|Index|Key|Name|NotImplemented|Recursion|Syntax|Type|UnboundLocal"
    r"|Value"
    r"|ZeroDivision)Error(?![A-Za-z])|\bshapes? .{0,40}\b(?:cannot|can't|mismatch|not match)|\bshape mismatch"
    r"|\bsizes? of tensor"
    r"|\b(?:list )?index (?:\d{1,9} is )?out of (?:bounds|range)|' object (?:is not|has no attribute)"
    r"|\bpositional arguments?\b"
    r"|\bmust match the (?:size|shape)"
)
"""Exceptions that only a program's own code raises, by their names or their usual messages."""

_OF_OTHERS = re.compile(
    r"/torch/distributed/(?:elastic/(?!multiprocessing/errors/)|run\.py|launch|distributed_c10d)"
    r"|/accelerate/commands/|deepspeed/launcher/|/horovod/runner/"
    r"|/ray/(?:_private|dashboard|scripts)"
)
_BEGINS = re.compile(r"/bin/|\.exe/|runpy\.py|/launcher\.py")
"""Frames that programs of all kinds begin with: they say nothing if none follows."""


_OF_DAEMONS = re.compile(
    r"(?:slurm\w{0,10}|s(?:run|batch|alloc)|[a-z][\w-]{1,30}_(?:mom|daemon|verbs|pm\w{0,10}))[:;]"
    r"|time=\S{1,60} level=\w|(?:FATAL|ERROR):\s{2}"
)
"""The beginning of a line of a scheduler, a container's runtime or a driver, which has no arguments of a trainer."""


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
        if not is_source(told.raised.context or told.raised.line.text)
    ]
    return sorted(last, key=lambda r: r.order)


def cut_off(seen: Evidence) -> List[Raised]:
    """Tracebacks at the end of a log, in order, whose exception is missing. A launcher's does not count, nor that of a
    rank in a collective: it may only have lost a peer. The first words of a short text may say what the exception
    did."""
    if seen.ended_well or seen.raised():
        return []
    told: List[Raised] = []
    streams = (*seen.ranks.values(), *seen.streams.values())
    said = [(s.raised.order, s.raised.line.text) for one in streams for s in one.stated]
    said += [(c.order, c.line.text) for one in streams for c in one.complaints if c.order == 1]
    heading = min(said)[1] if said and seen.count <= NEAR_THE_END else ""
    heading = "" if is_warning(heading) else heading
    for one in (*seen.ranks.values(), *seen.streams.values()):
        if not one.is_cut or one.cut is None:
            continue
        named, line, order, steps, last = one.cut
        raised = Raised("", line, order, None, False, (), steps, one.frames, "", heading, one.code)
        near = one.lines - last <= (OF_IPYTHON if named else CUT_WITHIN) and (
            named or len(one.frames) > 1 or bool(heading) or line.text[:1] == "│"
        )
        innermost = [frame for frame in one.frames if "/subprocess.py" not in frame][-1:]
        of_others = any(map(_OF_OTHERS.search, one.frames)) or any(map(_BEGINS.search, innermost))
        of_others = of_others or (bool(one.frames) and not innermost)
        if near and not seen.survived(raised) and not of_others:
            told.append(raised)
    return sorted(told, key=lambda r: r.order)


def of_assertion(raised: Raised) -> Iterator[str]:
    """The causes that the statement of an assertion without a message names."""
    if raised.code and raised.line.text.rstrip(": ") == "AssertionError":
        named = claimants(claims(), f"failed: {raised.code}", ())
        yield from (name for name in named if not claims()[name].general)


def of_title(seen: Evidence, kind: str) -> Iterator[str]:
    """The causes that the title of a text names, for an exception that tells little: one of a connection or a file."""
    if seen.title and kind not in OF_CODE and kind not in ("", "RuntimeError"):
        named = claimants(claims(), f"failed: {seen.title_text}", ())
        yield from (name for name in named if not claims()[name].general)


def _is_message(seen: Evidence, text: str) -> bool:
    """Whether a text may be nothing but the message of an exception."""
    if seen.count > ALONE or seen.exits or _OF_RUNTIMES.search(text) or _OF_DAEMONS.match(text):
        return False
    return len(text.split()) >= MESSAGE_WORDS


def of_others(text: str) -> bool:
    """Whether a message may be another program's than the trainer's: a runtime's or a scheduler's."""
    return _RUNTIMES.search(text) is not None or _OF_DAEMONS.match(text) is not None


def announces(text: str) -> bool:
    """Whether a line says that an error follows: `With four nodes I get the following error:`."""
    return text.rstrip().endswith((":", "\uff1a"))


def in_words(seen: Evidence, crashed: str) -> Optional[Case]:
    """The case that follows from plain words, if nothing else names a cause: from an error that a logger wrote near the
    end, or from any statement in a short text. The claims on its subject decide; else the name of an exception in a
    short text says that a program `crashed`."""
    every = [(one, told) for one in (*seen.ranks.values(), *seen.streams.values()) for told in one.stated]
    short, named = seen.count <= SHORT and not seen.steps and seen.marks < MARKS, None
    for one, told in sorted(
        every, key=lambda pair: (announces(pair[1].raised.line.text), not pair[1].sure, pair[1].raised.order)
    ):
        near = told.sure and one.lines - told.number <= NEAR_THE_END and not seen.survived(told.raised)
        title = told.raised.order == seen.title and seen.marks < OF_TITLED * MARKS
        if seen.ended_well or not (near or short or title):
            continue
        raised = told.raised
        if is_source(raised.line.text):
            continue
        symptom = next(claimants(claims(), raised.line.text, ()), None)
        if symptom is None and title:
            symptom = next(claimants(claims(), f"failed: {raised.line.text}", ()), None)
        if symptom is None and _is_message(seen, raised.line.text):
            symptom = next(claimants(claims(), f"Error: {raised.line.text}", ()), None)
        if symptom is not None:
            hit = Hit(symptom, WORDS, raised.line, raised.order, raised.at, raised.steps)
            return Case(symptom, WORDS, (hit,), "likely")
        if named is None and short and _OF_CODE.search(raised.line.text) is not None:
            named = Hit(crashed, WORDS, raised.line, raised.order, raised.at, raised.steps)
    return Case(crashed, WORDS, (named,), "likely") if named is not None else None
