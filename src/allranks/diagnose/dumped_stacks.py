"""Stacks of hanging processes that a log shows, as faulthandler and `py-spy dump` print them: whether all processes but
one wait for others.

faulthandler prints `Thread 0x… (most recent call first):` and each frame as `File "x.py", line 3 in f`, the main thread
last, or only the thread that got a signal, as `Current thread`. After a crash (`Fatal Python error`) it prints the
same. py-spy 0.4 prints `Process 42: python x.py`, `Thread 42 (idle): "MainThread"` and each frame as `f (x.py:3)`.
"""

from __future__ import annotations

import re
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from allranks.core.rank_events import Frame
from allranks.core.stack_places import doing, waits
from allranks.diagnose.alone import Alone
from allranks.diagnose.dumps import Dump, OpenDump, Thread
from allranks.diagnose.lines import Line, clean
from allranks.diagnose.speakers import owner
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

GAP, GAP_OF_PY_SPY = 2, 64
"""Lines from one line of a dump to its next one that counts: both leave one empty. py-spy may also show local variables
(`--locals`), and the frames of C++ (`--native`)."""

NAMED_WITHIN = 2
"""Lines before a dump in which a supervisor names its rank."""

ANNOUNCED = -1
"""In the place of a dump's number: py-spy has named the process, and its threads follow."""

FRAMES_KEPT, THREADS_KEPT, DUMPS_KEPT = 40, 64, 2048
FEWEST = 3
"""Processes, from which on one that is at another place than all others is odd."""

_NAMED = re.compile(
    r"(?i)(?<![a-z])(?<!local[ _])(?:rank|worker|trainer|proc(?:ess)?)[ _=:#-]{0,2}(\d{1,5})(?![\d.])"
)
_BACKWARD = re.compile(r"(^|/)torch/autograd/(graph|__init__)\.py$")
"""torch's backward pass, in which DDP and FSDP wait for others, and in which a rank may only compute."""


class Hung(NamedTuple):
    """The only process that does not wait for others. `line`: its innermost frame."""

    rank: Optional[int]
    line: Line
    dump: Dump
    notes: Tuple[str, ...]


def _key(line: Line) -> Tuple[Any, ...]:
    return (line.rank, line.source, line.node, line.local)


def _place(seen: Store, line: Line) -> Tuple[Optional[OpenDump], int]:
    """The place of this line's stream, if the lines before it belong to it, and the line's number in the stream."""
    here, place = seen.seen_of(line).lines, seen.dumps.places.get(_key(line))
    gap = GAP_OF_PY_SPY if place is not None and place.of_py_spy else GAP
    return (place if place is not None and here - place.last <= gap else None), here


def _rank_above(seen: Store, line: Line) -> Optional[int]:
    above = seen.seen_of(line).last_plain
    if above is None or above.source != line.source or not 0 < line.number - above.number <= NAMED_WITHIN:
        return None
    named = _NAMED.search(above.text)
    return int(named.group(1)) if named is not None else None


def _put(seen: Store, line: Line, place: OpenDump) -> None:
    if len(seen.dumps.places) < DUMPS_KEPT:
        seen.dumps.places[_key(line)] = place


def _crashed(seen: Store, line: Line, match: Any) -> None:
    _put(seen, line, OpenDump(None, seen.seen_of(line).lines))


def _timed_out(seen: Store, line: Line, match: Any) -> None:
    """The line that faulthandler prints before the stacks of a process."""
    seen.dumps.places.pop(_key(line), None)


def _process(seen: Store, line: Line, match: Any) -> None:
    """py-spy's first line about a process; `Python v3.11` and an empty line follow."""
    _put(
        seen,
        line,
        OpenDump(ANNOUNCED, seen.seen_of(line).lines, match.group(1), _rank_above(seen, line), True),
    )


def _thread(seen: Store, line: Line, match: Any) -> None:
    told = match.groupdict()
    is_main = bool(told.get("current")) or told.get("name") == "MainThread"
    place, here = _place(seen, line)
    if place is not None and place.dump is None:
        place.last = here
        return
    dump = seen.dumps.kept.get(place.dump if place is not None and place.dump is not None else -1)
    if dump is None or (is_main and any(one.is_main for one in dump.threads)):
        announced = place is not None and place.dump == ANNOUNCED
        process = place.process if place is not None and announced else told["id"]
        named = place.named if place is not None and announced else _rank_above(seen, line)
        steps = seen.sources[line.source].steps
        dump = Dump(line, seen.count, process, named, steps, seen.now(line))
        seen.dumps.kept[dump.order] = dump
        if len(seen.dumps.kept) > DUMPS_KEPT:
            del seen.dumps.kept[min(seen.dumps.kept)]
        place = OpenDump(dump.order, here, of_py_spy=place is not None and place.of_py_spy)
        _put(seen, line, place)
    if place is not None:
        place.last = here
    if len(dump.threads) < THREADS_KEPT:
        dump.threads.append(Thread(is_main))


def _frame(seen: Store, line: Line, match: Any) -> None:
    place, here = _place(seen, line)
    if place is None:
        return
    place.last = here
    dump = seen.dumps.kept.get(place.dump if place.dump is not None else -1)
    is_python = match.group("file").endswith((".py", ">"))  # `<frozen runpy>`
    if dump is not None and is_python and dump.threads and len(dump.threads[-1].frames) < FRAMES_KEPT:
        number = match.group("number")
        frame = Frame(match.group("file"), int(number) if number else None, match.group("name"))
        dump.threads[-1].frames.append((frame, line.number))


class PySpysFrame:
    """A frame of py-spy, which has no word to look lines up by."""

    _FRAME = re.compile(
        r"    (?P<name>[\w.<>:]{1,160}) "
        r"\((?P<file>[^()\n]{1,300}\.(?:pyx?|c|cc|cpp|so(?:\.\d{1,4}){0,3}))(?::(?P<number>\d{1,7}))?\)$"
    )

    def find(self, text: str) -> "re.Match[str] | None":
        return self._FRAME.match(text) if text[:4] == "    " and text[-1] == ")" else None


PY_SPYS_FRAME = (PySpysFrame(), _frame)
FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = (
    (Pattern("Fatal Python error", r"^Fatal Python error: "), _crashed),
    (Pattern("Timeout (", r"^Timeout \(\d{1,6}:\d\d:\d\d(?:\.\d{1,6})?\)!$"), _timed_out),
    (Pattern("Process ", r"^Process (\d{1,9}): \S"), _process),
    (
        Pattern(
            "most recent call first",
            r"^(?P<current>Current )?[Tt]hread (?P<id>\dx[\da-f]{4,16})(?: \[[^\]]{1,64}\])? "
            r"\(most recent call first\):",
        ),
        _thread,
    ),
    (
        Pattern(
            "Thread ",
            r"^Thread (?P<id>[\dxA-Fa-f]{1,20}) \((?:active|idle)(?:\+gil)?\)(?:: \"(?P<name>[^\"]{1,120})\")?$",
        ),
        _thread,
    ),
    (
        Pattern(
            "File ",
            r"^  File \"(?P<file>[^\"\n]{1,400})\", line (?P<number>\d{1,7}) in (?P<name>\S{1,160})$",
        ),
        _frame,
    ),
)
HANDLERS = (_thread, _process, _timed_out, _frame)


def hung(seen: Alone) -> Optional[Hung]:
    """The process that others wait for, by the last dump of each, if its log shows no step after it."""
    dumps = _last_dumps(seen)
    found = _only_one_outside([dump for _, dump in dumps])
    if found is None:
        return None
    rank = next(rank for rank, dump in dumps if dump is found)
    others = [dump for _, dump in dumps if dump is not found]
    frame, number = found.main.frames[0]
    line = found.line._replace(
        text=f'File "{frame.file}", line {frame.line} in {frame.function}', number=number
    )
    notes = (
        f"its stack: {clean(doing(found.frames), 200)}",
        f"the stack of {'another process' if len(others) == 1 else f'{len(others)} other processes'}: "
        f"{clean(doing(others[0].frames), 200)}",
    )
    return Hung(rank, line, found, notes)


def _last_dumps(seen: Alone) -> List[Tuple[Optional[int], Dump]]:
    """The last dump of each process, with its rank. Names above dumps are those of ranks if each dump has its own."""
    dumps = [
        one
        for one in seen.dumps.kept.values()
        if one.main.frames and seen.sources[one.line.source].steps == one.steps
    ]
    named = {one.process: one.named for one in dumps}
    are_named = None not in named.values() and len(set(named.values())) == len(named)
    last: Dict[Any, Tuple[Optional[int], Dump]] = {}
    for one in dumps:
        rank = seen.rank_of(one.line)
        rank = owner(seen, one.line.source) if rank is None else rank
        rank = one.named if rank is None and are_named else rank
        last[(one.line.source, one.process) if rank is None else rank] = (rank, one)
    return list(last.values())


def _only_one_outside(dumps: List[Dump]) -> Optional[Dump]:
    waiting = [one for one in dumps if waits(one.frames)]
    others = [one for one in dumps if not waits(one.frames)]
    outside = [one for one in others if not _BACKWARD.search(one.main.frames[0][0].file)] or others
    if len(outside) == 1 and len(dumps) > 1 and (waiting or len(dumps) >= FEWEST):
        return outside[0]
    if waiting or len(dumps) < FEWEST:
        return None
    places: Dict[Tuple[str, str], List[Dump]] = {}
    for one in dumps:
        frame = one.main.frames[0][0]
        places.setdefault((frame.file, frame.function), []).append(one)
    alone = [mine[0] for mine in places.values() if len(mine) == 1]
    return alone[0] if len(places) == 2 and len(alone) == 1 else None
