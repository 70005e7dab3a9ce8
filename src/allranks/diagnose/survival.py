"""Lines that do not show why the training ended: many steps followed them, or its end; they are of another day, or of
the training's data."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence, Tuple, Union

from allranks.diagnose.alone import STEPS_PRINTED_LATE
from allranks.diagnose.catalogue import cause
from allranks.diagnose.complaints import Heard
from allranks.diagnose.late_output import ended_its_program
from allranks.diagnose.own_logs import all_went_on
from allranks.diagnose.reached import LAST_LINES, Reached
from allranks.diagnose.repeats import are_of_items, last_said, waits
from allranks.diagnose.streams import EXCEPTION, RUNS_APART, Raised, Seen
from allranks.diagnose.symptom import ECHO, STRONG, Hit, is_warning
from allranks.diagnose.usual import GOES_ON

LATER_STEPS = 10
"""Step lines after which an error is taken to be survived."""

WARNED_ON = 20
"""The same after a line that its program marks as a warning."""

WORKED_ON = 40
"""Lines, some of them progress, after a single program's exception, from which on it did not end the log."""

WENT_ON = 100
"""Lines of the same log after a warning, from which on it is not the reason for an end that nothing else shows."""

STILL_LOGS = 10
"""The same, if a logger wrote the last one."""

APART = 20
"""Lines between two exceptions of one stream, from which on they are two events."""
ECHOES = re.compile(
    r"Broken|Connection|EOF|Died|Timeout|Interrupt|ChildProcess|Exit|Remote|Rpc|Worker|Ray|Cancel"
)
"""Exceptions of a program that lost another one, or was told to end."""
ECHOES_WITHIN = 1000
"""Lines after a failure in which others notice it, by their time-outs at the latest."""
MANY_TRACEBACKS, FAR_APART = 7, 300
"""Tracebacks of one stream; lines between the first and the last."""

CLOSING_MARKS = 20
"""A text with a document's mark in so many lines may only tell of a job that is done."""

ZONES_SECONDS = 86400.0
"""Containers often have UTC, and their machine the time of its place, which is up to 14 hours away."""

_REFUSES = re.compile(
    r"[\w./-]{1,200}(?:\.py: error: |: error: (?:argument |unrecognized arguments|the following arguments|one of the ))"
    r"|[\w./-]{0,200}python[\d.]{0,5}: can't open file "
)
"""argparse (`ArgumentParser.error`) or Python ends a program with such a line."""

_OF_SHELL = re.compile(
    r": line \d{1,6}: [^:]{1,200}: (?:command not found|No such file or directory)$|: \d{1,6}: \S{1,100}: not found$"
    r"|^CommandNotFoundError: .{0,80}shell has not been properly configured"
)
"""bash says so of a command and conda of its own, and the shell goes on with the next one."""

_OF_MACHINE = re.compile(r"(?:^|/)(?:messages|syslog|dmesg|kern(?:el)?)[\w.-]{0,80}$")
"""The names of a machine's own logs."""


def _is_echo(one: Raised) -> bool:
    """Whether a program may have raised this because it lost another one, or was told to end. A user who interrupts it
    while it computes does not do so because it hangs."""
    if one.kind == "KeyboardInterrupt" and one.frames and not waits(one.frames[-1]):
        return False
    return one.communication or ECHOES.search(one.kind) is not None


def _echoes(hit: Union[Hit, Raised], later: Sequence[Raised]) -> bool:
    """Whether a program may have raised one of these because it lost the one that this ended."""
    return any(_is_echo(one) and one.order - hit.order < ECHOES_WITHIN for one in later)


class Survival(Reached):
    """The memory of all logs, with what the training outlived."""

    def __init__(self) -> None:
        super().__init__()
        self._ended: Optional[Tuple[int, bool]] = None

    def later_steps(self, hit: Union[Hit, Raised, Heard]) -> int:
        """The number of steps that the same log shows after the hit. If a run trained many more steps, this was not the
        reason for its end. A rank that printed its steps like the others and prints none since may have ended."""
        if hit.order == self.title or self.ended_its_rank(hit):  # a title is written at the end
            return 0
        if ended_its_program(self, hit):
            return 0
        return self.sources[hit.line.source].steps - hit.steps

    def survived(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the training continued for many steps after the hit, or completed in spite of it. If the training
        completed, warnings and ranks that blame each other never count: ranks that end one after the other print
        them."""
        if self.later_steps(hit) >= LATER_STEPS or self.sources[hit.line.source].quotes(hit.order):
            return True
        return not ended_its_program(self, hit) and self._got_over(hit)

    def _got_over(self, hit: Union[Hit, Raised]) -> bool:
        """Whether something else than many steps shows that the training survived."""
        if self.at_shutdown(hit) or self._serves_on(hit) or self._was_handled(hit):
            return True
        if self._was_reported(hit) or self._was_told_to_end(hit) or all_went_on(self, hit):
            return True
        if isinstance(hit, Raised) and (self._is_handled(hit) or self._goes_on_alone(hit)):
            return True
        if isinstance(hit, Hit) and (self._ends_nothing(hit) or self._refused_before(hit)):
            return True
        if self._gave_way(hit) or self._of_earlier_run(hit) or self.is_past(hit) or self._ended_after(hit):
            return True
        if isinstance(hit, Hit) and (self._of_another_time(hit) or self._was_only_told(hit)):
            return True
        if not self.ended_well:
            return False
        if self._before_end(hit):
            return True
        if not isinstance(hit, Hit):
            return False
        source = self.sources[hit.line.source]
        if hit.weight <= ECHO and source.closes and source.closing > hit.order:
            return True
        may_be_of_others = is_warning(hit.weight) or self._is_beside(hit)
        return may_be_of_others and not cause(hit.symptom).holds_after_the_end

    def _ended_after(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the rank that raised this trained on to its end."""
        of_line = (one for one in self.seen_of(hit.line).raised if one.order == hit.order)
        raised = hit if isinstance(hit, Raised) else next(of_line, None)
        return raised is not None and self.reached_its_end(raised)

    def _was_handled(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a program was handling this when its user ended it, and this alone proves no cause."""
        return hit.order in self.handled and not (isinstance(hit, Hit) and hit.weight >= STRONG)

    def _was_reported(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a single program only reported this: it went on for many lines, and the log ends with a line that
        says that something is done."""
        if isinstance(hit, Raised) or not self._is_alone(hit):
            return False
        source = self.sources[hit.line.source]
        return source.closes and source.closing - hit.order >= WENT_ON and not self.raised()

    def _was_told_to_end(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a single program worked on after this, and its last lines say that a signal told it to end."""
        source = self.sources[hit.line.source]
        if not source.told or source.last - source.told > LAST_LINES or not self._is_alone(hit):
            return False
        raised = [one.order for _, one in self.raised()]
        return source.told - max([hit.order, *raised]) >= WARNED_ON

    def _gave_way(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a single program, which ends only once, worked on after this exception and ended with another one."""
        if not self._is_alone(hit):
            return False
        raised = self.seen_of(hit.line).raised
        kind = next((one.kind for one in raised if one.order == hit.order), "")
        apart, named = APART, EXCEPTION.match(hit.line.text)
        if not kind and named is not None:  # only the last exceptions of a stream are kept
            apart, kind = RUNS_APART, named.group(1)
        later = [
            n
            for n, one in enumerate(raised)
            if one.order - hit.order >= apart and one.kind != kind and not one.chained
        ]
        return bool(kind and later) and not _echoes(hit, raised[later[0] :])

    def _of_earlier_run(self, hit: Union[Hit, Raised]) -> bool:
        """Whether an uncaught exception after this line ended a single program, and another one ended a later run of it
        in the same log. Or the line is from before the ranks, and an exception of theirs came much later."""
        if hit.line.rank is not None or (isinstance(hit, Hit) and cause(hit.symptom).kernel is not None):
            return False
        seen = self.seen_of(hit.line)
        if not self._is_in_one_stream(hit):
            ended = any(one.order == hit.order for one in seen.raised) or _OF_SHELL.search(hit.line.text)
            return bool(ended) and (self._raised_late(hit) or self._was_raised_often(hit))
        before, _ = seen.ends
        if hit.order > before:
            return False
        later = [one for one in seen.raised if one.order > before]
        return bool(later) and not _echoes(hit, later)

    def _goes_on_alone(self, raised: Raised) -> bool:
        """Whether a single program's log goes on after this exception and all others: a later run of it, or it had
        handled them."""
        if self._goes_on_long(raised):
            return True
        ended = any(one.order == raised.order for one in self.seen_of(raised.line).raised)
        return ended and self._goes_on_as_before(raised)  # of others the line is shown (`left_behind`)

    def _goes_on_long(self, raised: Raised) -> bool:
        """The same, shown by many lines, or by lines that a program alone prints."""
        if not self._is_alone(raised) or ended_its_program(self, raised):
            return False
        seen = self.seen_of(raised.line)
        last = max((raised, *seen.raised[-1:]), key=lambda one: one.order)
        source = self.sources[raised.line.source]
        after = source.last - max(seen.ends[1], last.order)
        return not seen.is_cut_after(last.order) and (
            after >= WENT_ON
            or (after >= STILL_LOGS and self._still_logs(seen, last))
            or (after >= WORKED_ON and self.later_steps(last) > 0)
            or self._logs_its_end(last)
        )

    def _goes_on_as_before(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a single program's log ends with lines like those before the last error, and nothing fails after it
        but what these lines follow. Steps do not count (`later_steps`), since other ranks print some more."""
        if not self._is_alone(hit) or len(self.world) > 1 or ended_its_program(self, hit):
            return False
        seen = self.seen_of(hit.line)
        if seen.is_cut_after(hit.order):
            return False
        last = max(hit.order, last_said(seen.repeats), *(one.order for one in seen.raised[-1:]))
        return self.usual.after(last, last) >= GOES_ON

    def _still_logs(self, seen: Seen, last: Raised) -> bool:
        """Whether a program's logger wrote the last line, and not a shell or a scheduler that tells of the program's
        end: it has a time, and the exception has none, so that no collector of logs put it there."""
        return last.line.time is None and seen.last_plain is not None and seen.last_plain.time is not None

    def _logs_its_end(self, raised: Raised) -> bool:
        """Whether a single program's logger reports a success at the end of the log."""
        source = self.sources[raised.line.source]
        return source.logged and source.closes and source.closing > raised.order and self._is_alone(raised)

    def _ends(self, raised: Raised) -> bool:
        """Whether this exception may have ended the training: neither steps nor its end follow."""
        return self.later_steps(raised) < LATER_STEPS and not self._before_end(raised)

    @property
    def logged(self) -> List[Raised]:
        """The exceptions that the program survived according to nothing but a logger's line at the end."""
        return [one for _, one in self.raised() if self._ends(one) and self._logs_its_end(one)]

    def _raised_late(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a rank's own exception stands long after this line in the same log."""
        return any(
            rank is not None
            and one.line.source == hit.line.source
            and one.order - hit.order >= RUNS_APART
            and one.frames
            and not (one.communication or self.later_steps(one) >= LATER_STEPS)
            for rank, one in self.raised()
        )

    def _of_ended_run(self, hit: Hit) -> bool:
        """Whether an uncaught exception ended a single program after this line, many lines ago."""
        if not self._is_alone(hit):
            return False
        _, last = self.seen_of(hit.line).ends
        return hit.order <= last <= self.count - RUNS_APART

    def _is_handled(self, raised: Raised) -> bool:
        """Whether its stream shows so many tracebacks, so far apart, with steps after one of this kind, that the
        program prints exceptions that it handled: it could end only once."""
        seen = self.seen_of(raised.line)
        count, first, last = seen.uncaught
        if count < MANY_TRACEBACKS or last - first < FAR_APART or self.failed:
            return False
        like = (one for one in seen.raised if one.kind == raised.kind)
        return any(self.later_steps(one) > STEPS_PRINTED_LATE for one in like)

    def _is_beside(self, hit: Hit) -> bool:
        """Whether the line is from a log beside the training's own, such as the machine's."""
        return hit.line.rank is None and not self.sources[hit.line.source].steps and self.steps > 0

    def _of_another_time(self, hit: Hit) -> bool:
        """Whether a log beside the training's own has this line more than a day after the training, or before its last
        line: the training went on for that day."""
        last = self._last_moment() if self._is_beside(hit) else None
        return last is not None and hit.at is not None and abs(hit.at - last) > ZONES_SECONDS

    def _last_moment(self) -> Optional[float]:
        """The last time in the logs that show steps."""
        moments = (self.moment(source.time) for source in self.sources.values() if source.steps)
        return max((moment for moment in moments if moment is not None), default=None)

    def _was_only_told(self, hit: Hit) -> bool:
        """Whether the training went on after a line that ended no traceback, and then ended with an exception of the
        same stream that no symptom knows: whatever the line says, the program had dealt with it."""
        known = cause(hit.symptom)
        if known.outlasts_the_end or known.kernel is not None or is_warning(hit.weight):
            return False
        raised = self.seen_of(hit.line).raised
        last = raised[-1] if raised else None
        if last is None or not last.frames or last.known or last.communication:
            return False
        return last.steps - hit.steps > STEPS_PRINTED_LATE and all(one.order != hit.order for one in raised)

    def may_be_old(self, hit: Hit) -> bool:
        """Whether this is a line of a machine's own log, and no times tell whether it belongs to the training."""
        of_machine = _OF_MACHINE.search(hit.line.source or "") is not None
        return of_machine and self._is_beside(hit) and (hit.at is None or self._last_moment() is None)

    def _ends_nothing(self, hit: Hit) -> bool:
        """Whether this is a line of an exception after which a single program's log goes on (`_goes_on_alone`)."""
        raised = self._raised_in(hit)
        return raised is not None and self._goes_on_alone(raised)

    def _raised_in(self, hit: Hit) -> Optional[Raised]:
        """The exception of a single program in this line."""
        return self.raised_at(hit) if self._is_alone(hit) else None

    def _refused_before(self, hit: Hit) -> bool:
        """Whether a parser of arguments ended a program with this line, and an exception ended a later one."""
        if _REFUSES.match(hit.line.text) is None or not self._is_alone(hit):
            return False
        return self.seen_of(hit.line).ends[1] >= hit.order + APART

    def only_warned(self, hits: Sequence[Hit]) -> bool:
        """Whether these lines only warn and their log goes on for many lines, or they end exceptions that Python
        ignored, and nothing says that anything failed."""
        if self.failed or not hits or not all(hit.warned or is_warning(hit.weight) for hit in hits):
            return False
        told = [hit for hit in hits if not hit.ignored]
        if any(self._lines_after(hit) < (WARNED_ON if hit.warned else WENT_ON) for hit in told):
            return False
        streams = (*self.ranks.values(), *self.streams.values())
        return not (self.raised() or any(one.is_cut for one in streams))

    def worked_on(self, hits: Sequence[Hit]) -> bool:
        """Whether these are exceptions after which a single program's log goes on for long, and nothing fails there."""
        raised = [self._raised_in(hit) for hit in hits]
        return bool(hits) and not self.failed and all(one and self._goes_on_long(one) for one in raised)

    def left_behind(self, hits: Sequence[Hit]) -> bool:
        """Whether a single program's log goes on for many lines after these, and nothing there says that it failed."""
        if self.failed or not hits or not all(map(self._is_alone, hits)):
            return False
        if any(self._lines_after(hit) < self._far(hit) for hit in hits):
            return False
        streams = (*self.ranks.values(), *self.streams.values())
        return all(self.survived(one) for _, one in self.raised()) and not any(one.is_cut for one in streams)

    def _far(self, hit: Hit) -> int:
        """The number of lines after this one from which on it did not end a single program."""
        if _OF_SHELL.search(hit.line.text) is not None:
            return WARNED_ON
        seen = self.seen_of(hit.line)
        source = self.sources[hit.line.source]
        closed = source.closes and source.closing > hit.order
        if self._goes_on_as_before(hit):
            return 0
        now = self.moment(source.time)
        return 0 if are_of_items(seen.repeats, hit.line.text, seen.lines, closed, now) else WENT_ON

    def goes_on_after(self, hits: Sequence[Hit]) -> bool:
        """Whether the training, or at least the log, goes on after these lines, and no process and no traceback says
        that it failed."""
        went_on = all(
            self.later_steps(hit) > STEPS_PRINTED_LATE or self._lines_after(hit) >= WENT_ON for hit in hits
        )
        return went_on and not self.raised() and not any(one.code for one in self.exits)

    @property
    def ended_well(self) -> bool:
        """Whether a rank reports that the training is complete and no process has failed, with an exit code or an
        uncaught exception."""
        if self._ended is None or self._ended[0] != self.count:
            ending = (r for _, r in self.raised() if self._ends(r))
            failed = self.failed or not all(self._logs_its_end(r) or self.at_shutdown(r) for r in ending)
            cut = (s for s in (*self.ranks.values(), *self.streams.values()) if s.is_cut)
            failed = (
                failed
                or any(s.is_cut_after(self.sources[s.source].end) for s in cut)
                or self._says_failed()
                or self._failed_at_the_end()
            )
            self._ended = (self.count, self.is_finished and not failed)
        return self._ended[1]

    @property
    def is_finished(self) -> bool:
        """Whether a line says that the training ended, or hardly a line follows one that says that something did."""
        if self.finished or self.marks * CLOSING_MARKS > self.count:
            return self.finished
        return any(one.closes for one in self.sources.values())

    def _before_end(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the training's end follows in the same log. After another rank's exception it proves something only
        if a few steps are between them: the last lines of a rank may come after another rank's death."""
        source = self.sources[hit.line.source]
        if source.end < hit.order:
            return False
        late = isinstance(hit, Raised) and hit.line.rank not in (None, source.end_rank)
        return not late or self.later_steps(hit) > STEPS_PRINTED_LATE
