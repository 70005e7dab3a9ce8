"""Evidence: the lines of all ranks folded in bounded memory, one line at a time, in any order of sources.

A line costs a dictionary look-up where one like it (every digit alike) was seen before and held nothing.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, Optional, Tuple

from allranks.core.communication import is_communication
from allranks.diagnose import facts, repeats, streams
from allranks.diagnose.catalogue import frames
from allranks.diagnose.closings import is_measured
from allranks.diagnose.complaints import Heard, keep
from allranks.diagnose.kept_hits import HITS_PER_RANK, HITS_PER_SYMPTOM, gives_way
from allranks.diagnose.lines import Line
from allranks.diagnose.progress import DRAWN
from allranks.diagnose.quotes import LOGGED, MENTIONED, SAID, STATED, inside
from allranks.diagnose.shapes import PLAIN, STEP, Shape, Shapes
from allranks.diagnose.sources import Source
from allranks.diagnose.store import CHANGES, RANKS_KEPT
from allranks.diagnose.streams import (
    CHAINED,
    CLOSED,
    EXCEPTION,
    FRAMES_KEPT,
    HEADED,
    IGNORING,
    LOOSE,
    NOT_IGNORED,
    OPEN,
    TITLE,
    WAS_IGNORED,
    WRAPPERS,
    Quoted,
    Raised,
    Seen,
    Told,
    goes_on_from,
    head,
    in_traceback,
    is_warning_class,
    note_code,
)
from allranks.diagnose.stretches import Frames, Stretch
from allranks.diagnose.survival import LATER_STEPS, Survival
from allranks.diagnose.symptom import CLOSE, STALE, STRONG, WEAK, Case, Hit, bare

EXCEPTIONS_PER_RANK = 6
CHAINED_WITHIN = 4
"""Lines between an exception and the line that says that another one followed from it."""

QUOTED_KEPT = 3


class Evidence(Survival):
    """Everything that is kept of a log, for the symptoms' `judge`. `shapes`: those that a scanner found already."""

    def __init__(self, shapes: Optional[Shapes] = None) -> None:
        super().__init__()
        self._source_name: Optional[str] = None
        self._source = Source()
        self._kept: Dict[Tuple[Any, ...], int] = {}
        self._latest: Dict[str, float] = {}
        self._shapes = shapes or Shapes()
        self._frames, self.title_text, self._is_script = frames(), "", False

    def take(self, told: "Line | Stretch | Frames") -> None:
        """Takes what `scan` gives out."""
        if isinstance(told, Line):
            self.add(told)
        elif isinstance(told, Stretch):
            self.add_stretch(told)
        else:
            self.add_frames(told)

    # ---- one line ----

    def add(self, line: Line) -> None:
        text = line.text
        seen = self._count(line)
        shape = self._shapes.of(text)
        if text[:1] == "#":
            line, shape = self._titled(line, shape)
        if seen.traceback != OPEN and not (shape.exception or shape.heading or shape.quotes):
            self.samples.note(line)
        if shape is PLAIN or shape.only_told:
            self._read_facts(line, shape)
            self._source.usual.note(line, self.count)
            if seen.traceback != OPEN:
                seen.last_plain = line
            elif LOOSE.match(text) is not None:
                self._exception(line, seen, [])
        elif shape is STEP:
            self._step(line, seen)
        else:
            if shape.complains:
                keep(seen, Heard(shape.complains, seen.lines, line, self.count, self._source.steps))
            self._examine(line, seen, shape)
        if shape is not STEP or DRAWN not in text:  # a bar that is only drawn does not end a statement
            note_code(seen, text)

    def _titled(self, line: Line, shape: Shape) -> Tuple[Line, Shape]:
        if self.count <= streams.TITLE_WITHIN and line.text.startswith("#!"):
            self._is_script = True
        if not line.text.startswith(TITLE):
            return line, shape
        if self._is_script or self.count > streams.TITLE_WITHIN:
            return line, shape.of_comment
        self.title, self.title_text = self.count, line.text[len(TITLE) :]
        self._read_facts(line, shape)
        return line._replace(text=line.text[len(TITLE) :]), shape._replace(facts=())

    def add_exception(self, told: Told, place: Line) -> None:
        """Adds an exception that a rank reported in parts. It counts like a traceback in the log of that place. The
        message's other lines are read like lines of a log, since a library may give the reason there."""
        first, *others = told.text.splitlines() or [""]
        line = place._replace(text=first)
        seen = self._count(line)
        seen.frames, seen.own, seen.code = (), "", ""
        for file, number, function in told.frames:
            seen.frames = (*seen.frames, f'File "{file}", line {number or 0}, in {function}')[-FRAMES_KEPT:]
            facts.on_frame(self, line.rank, file, function)
            for symptom, pattern in self._frames.get(function, ()):
                if pattern.frame[1] in file:
                    shown = place._replace(text=f"{file}:{number} in {function}")
                    self._hit(symptom, pattern.weight, shown, True)
        shape = self._shapes.of(first)
        self._read_facts(line, shape)
        found = self._read_patterns(line, shape, True)
        seen.traceback, seen.ignored = CLOSED, NOT_IGNORED
        self._raise(told.kind.rpartition(".")[2], line, seen, found, told.communication)
        for text in others:
            self.add(place._replace(text=text))

    def _count(self, line: Line) -> Seen:
        self.count += 1
        if self.count == 1 and CHANGES.match(line.text) is not None:
            self.words.add("proposal")
        if line.source is not self._source_name or self.count == 1:
            self._turn_to(line.source, line.number <= 1)
        source = self._source  # as `took` does, which costs a call of each line
        source.time, source.last, source.lines = line.time or source.time, self.count, source.lines + 1
        source.usual.number = line.number
        seen = self.seen_of(line)
        seen.lines += 1
        return seen

    def _turn_to(self, source: "Optional[str]", begins: bool = False) -> None:
        if self.sources and not begins and source not in self.sources:
            self.forget_ends()  # a heading names another log, whose end is somewhere in this file
        self._source_name = source
        self._source = self.sources[source] = self.sources.get(source) or Source(self.reads_ends)

    def add_frames(self, run: Frames) -> None:
        """The same as `add` with each of its lines."""
        self._turn_to(run.place.source)
        order, self.count = self.count + run.number, self.count + run.lines
        self._source.took(run.lines, self.count, run.place.time)
        streams.take_frames(self.seen_of(run.place), run, order, self._source.steps)

    def add_stretch(self, stretch: Stretch) -> None:
        """The same as `add` with each of its lines."""
        self._turn_to(stretch.source)
        base, self.count = self.count, self.count + stretch.lines
        self._source.took(stretch.lines, self.count, stretch.time)
        said: Dict[int, Tuple[Seen, List[Tuple[int, Line]], List[Tuple[int, Line]]]] = {}
        for part in stretch.parts:
            seen = self.seen_of(part.place)
            seen.lines += part.lines
            _, plain, steps = said.setdefault(id(seen), (seen, [], []))
            if part.plain is not None:
                plain.append(part.plain)
            newest = max((one for one in (part.plain, part.step) if one is not None), default=None)
            if newest is not None:
                note_code(seen, newest[1].text)
            if part.step is not None:
                steps.append(part.step)
                seen.steps += part.steps
                self.steps += part.steps
                self._source.step(seen, part.steps)
        for part in sorted(stretch.parts, key=lambda one: one.last):
            self.seen_of(part.place)  # the last line that names a local rank counts
        for seen, plain, steps in said.values():
            if steps or (plain and seen.traceback != OPEN):
                seen.last_plain = max(plain + steps)[1]
            if steps:
                seen.last_step = base + max(steps)[0]
                seen.traceback, seen.ignored = CLOSED, NOT_IGNORED
        last = max((part.step for part in stretch.parts if part.step is not None), default=None)
        if last is not None:
            self.last_step = (base + last[0], last[1])

    def _examine(self, line: Line, seen: Seen, shape: Shape) -> None:
        if shape.progress:
            self._step(line, seen)
        if shape.heading:
            head(seen, shape.heading, line.text)
            if shape.heading == CHAINED:
                self._chain(seen)
        if shape.facts:
            self._read_facts(line, shape)
        ignored = seen.ignored == IGNORING
        raised = named = shape.heading != "" and HEADED.match(line.text) is not None
        if not shape.heading:
            raised = in_traceback(seen, shape.exception) and (
                shape.exception or LOOSE.match(line.text) is not None
            )
        quoted = shape.exception and not raised and seen.ignored == NOT_IGNORED
        if seen.announced is not None and not shape.exception:
            goes_on = goes_on_from(seen) if shape.heading else streams.explain(seen, line.text)
            raised, quoted = raised or goes_on is True, quoted or goes_on is False
        found = self._read_patterns(line, shape, raised, ignored, quoted) if shape.patterns else []
        if shape.heading:
            streams.note_cut(seen, named, line, self.count, self._source.steps)
            return
        if shape.exception and line.text.endswith(":"):
            seen.announced = (seen.lines, raised)
        if raised:
            self._exception(line, seen, found)
            return
        self._keep(line, seen, shape, found)

    def _keep(self, line: Line, seen: Seen, shape: Shape, found: List[str]) -> None:
        """Keeps a line outside of tracebacks that may say that something failed."""
        says = found or shape.quotes or shape.complains or shape.exception
        is_warned = is_warning_class(line.text) or repeats.is_warned_code(seen.last_plain, line)
        if says and not (is_warned or is_measured(line.text)):
            repeats.note(seen.repeats, line.text, seen.lines, self.count, self.now(line))
        elif not says:
            self._source.usual.note(line, self.count)
        if shape.quotes >= STATED:
            streams.keep_statement(seen, line, self.count, self._source.steps, shape.quotes == LOGGED)
        elif shape.exception or shape.quotes:
            self._quote(line, seen, shape, found)
        if shape.patterns and (shape.exception or LOOSE.match(line.text) is not None):
            seen.bare = (seen.lines, line, shape)

    def _quote(self, line: Line, seen: Seen, shape: Shape, found: List[str]) -> None:
        """Keeps an exception without a traceback: a line that begins with its name, or that quotes it."""
        rank = self.told_by(line)
        if seen.ignored != NOT_IGNORED or (seen.traceback == OPEN and rank == line.rank):
            return
        said = inside(line.text)[1] if shape.quotes else line.text
        context = line.text if said != line.text else ""
        line = line._replace(text=said, rank=rank)
        if shape.quotes == SAID and context:
            said_by = self._shapes.of(line.text)._replace(warns=shape.warns)
            found = found + self._read_patterns(line, said_by, False, quoted=True)
        match, kept = EXCEPTION.match(line.text), len(seen.raised)
        if match is not None and streams.tells_of_user_code(seen, match.group(1), line.text):
            return
        if in_traceback(seen, True):
            seen.traceback = CLOSED  # its exception is indented
        else:
            seen.frames, seen.own = (), ""
        if match is not None and line.text not in ("Error:", "Exception:"):  # a heading
            self._raise(match.group(1) or match.group(0).rstrip(": "), line, seen, found, None)
        elif shape.quotes == SAID:
            self._raise("what()", line, seen, found, None)
        if len(seen.raised) > kept:
            raised = seen.raised.pop()._replace(context=context)
            seen.quoted.append(Quoted(seen.lines, shape.quotes != MENTIONED, raised))
            del seen.quoted[:-QUOTED_KEPT]

    def _chain(self, seen: Seen) -> None:
        """The exception above such a line was raised, also if its own traceback was cut off."""
        if seen.bare is None or seen.ignored == IGNORING or seen.lines - seen.bare[0] > CHAINED_WITHIN:
            return
        _, line, shape = seen.bare
        seen.bare = None
        self._read_patterns(line, shape, True)

    def _read_facts(self, line: Line, shape: Shape) -> None:
        for pattern, handler in shape.facts:
            match = pattern.find(line.text)
            if match is not None:
                handler(self, line, match)

    def _read_patterns(
        self, line: Line, shape: Shape, raised: bool, ignored: bool = False, quoted: bool = False
    ) -> List[str]:
        """The symptoms found. `raised`: it is an exception, which Python may have `ignored`; `quoted`: it is one
        without a traceback."""
        found: List[str] = []
        for symptom, pattern in shape.patterns:
            match = pattern.find(line.text)
            if match is not None:
                found.append(symptom)
                whole = not ignored and (raised or not pattern.raised)
                less = bare(pattern.weight) if quoted else min(pattern.weight, WEAK)
                start = match.start() if isinstance(match, re.Match) else line.text.find(pattern.literal)
                self._hit(
                    symptom, pattern.weight if whole else less, line, match, start, shape.warns, ignored
                )
        return found

    def _step(self, line: Line, seen: Seen) -> None:
        if DRAWN in line.text:
            return
        self.steps += 1
        self._source.usual.note_step(line, self.count)
        self._source.step(seen)
        seen.steps += 1
        seen.last_step, seen.last_plain = self.count, line
        seen.traceback, seen.ignored = CLOSED, NOT_IGNORED
        self.last_step = (self.count, line)

    def _hit(
        self,
        symptom: str,
        weight: int,
        line: Line,
        match: Any,
        start: int = 0,
        warned: bool = False,
        ignored: bool = False,
    ) -> None:
        """Keeps the first few hits of each rank and weight, so that a heavier one is never lost behind lighter ones.
        One that many steps followed gives way to a later one."""
        rank, node = line.rank, line.node
        key = (symptom, rank, node, weight)
        kept = self._kept.get(key, 0)
        hits = self.hits.setdefault(symptom, [])
        if kept >= HITS_PER_RANK:
            old = next(
                (n for n, h in enumerate(hits) if key == (h.symptom, h.line.rank, h.line.node, h.weight)), -1
            )
            if old < 0 or not (self._log_went_on(hits[old]) or self._of_ended_run(hits[old])):
                return
            del hits[old]
        elif len(self._kept) >= RANKS_KEPT:
            return
        else:
            self._kept[key] = kept + 1
        if rank is not None:
            self.hit_ranks.setdefault(symptom, set()).add(rank)
        now, steps = self.now(line), self._source.steps
        several = len(self.sources) > 1
        if len(hits) >= HITS_PER_SYMPTOM and not (several and gives_way(hits, now, symptom, self._latest)):
            return
        self._latest.pop(symptom, None)
        groups = match.groupdict() if isinstance(match, re.Match) else {}
        named = tuple((name, value) for name, value in groups.items() if value is not None)
        hits.append(Hit(symptom, weight, line, self.count, now, steps, named, start, warned, ignored))

    def _log_went_on(self, hit: "Hit | Raised") -> bool:
        """Whether the log showed many steps since, whoever printed them: newer lines are worth more then."""
        return self.sources[hit.line.source].steps - hit.steps >= LATER_STEPS

    def _exception(self, line: Line, seen: Seen, found: List[str]) -> None:
        named = EXCEPTION.match(line.text)
        match = named or LOOSE.match(line.text)
        if match is None or not in_traceback(seen, named is not None):
            return
        seen.traceback = CLOSED
        if seen.ignored == IGNORING:
            seen.ignored = WAS_IGNORED
            return
        count, first, _ = seen.uncaught
        seen.uncaught = (count + 1, first or seen.lines, seen.lines)
        before, last = seen.ends
        is_next = bool(last) and self.count - last >= streams.RUNS_APART and not seen.chained
        seen.ends = (last if is_next else before, self.count)
        self._raise(match.group(1), line, seen, found, None)

    def _raise(
        self, kind: str, line: Line, seen: Seen, found: List[str], communication: "bool | None"
    ) -> None:
        if kind in WRAPPERS or kind.endswith("Warning"):
            return
        if kind == "KeyboardInterrupt" and seen.chained and seen.raised:
            handled = seen.raised.pop().order  # when the user ended the program
            if len(self.handled) < RANKS_KEPT and not (seen.frames and repeats.waits(seen.frames[-1])):
                self.handled.add(handled)
        caught = streams.CAUGHT.match(seen.raised[-1].line.text) if seen.raised else None
        if caught is not None and caught.group(1) == kind:
            found = [*found, *seen.raised.pop().known]
        if len(seen.raised) >= EXCEPTIONS_PER_RANK:
            del seen.raised[0 if self._log_went_on(seen.raised[0]) else EXCEPTIONS_PER_RANK // 2]
        if communication is None:
            communication = is_communication((kind,), line.text)
        told = (self.count, self.now(line), communication, tuple(found), self._source.steps)
        seen.raised.append(Raised(kind, line, *told, *streams.traceback_of(seen)))

    # ---- what several symptoms ask ----

    def case(self, symptom: str) -> Optional[Case]:
        """The case that follows from the symptom's patterns alone: the heaviest hits that the training did not
        survive."""
        hits = self.hits.get(symptom)
        if not hits:
            return None
        fresh = [h for h in hits if not self.survived(h)]
        weight = max(h.weight for h in fresh) if fresh else STALE
        kept = [h for h in fresh if h.weight >= weight - CLOSE] if fresh else hits
        hits = sorted(kept, key=self.when)
        return Case(symptom, weight, tuple(hits), "certain" if weight >= STRONG else "likely")
