"""Whether a job trained on after an error, and whether it then came to its end."""

from __future__ import annotations

import re
from signal import SIGTERM
from typing import Optional, Tuple, Union

from allranks.diagnose.alone import STEPS_PRINTED_LATE, Alone
from allranks.diagnose.catalogue import cause
from allranks.diagnose.closings import says_failed
from allranks.diagnose.complaints import Heard
from allranks.diagnose.counting import is_logged
from allranks.diagnose.finishers import finished_after
from allranks.diagnose.going_on import says_it_goes_on
from allranks.diagnose.late_output import ended_its_program
from allranks.diagnose.lines import Line
from allranks.diagnose.repeats import TIMES
from allranks.diagnose.sources import CLOSING_WITHIN, Source, is_last_of_all
from allranks.diagnose.store import Exit
from allranks.diagnose.streams import EXCEPTION, Raised
from allranks.diagnose.symptom import ECHO, PROVEN, Hit, is_warning

LEAST_STEPS, KEPT_PACE = 5, 0.75
"""Steps that a rank prints at least, and their share of those of the rank that prints most, if each rank prints its
steps."""

STEPS_AGAIN = 3
"""Steps that a program shows at least after it was started again, if its log comes to its end."""

STEPS_WITHOUT_END = 10
"""The same if it does not. Another node's ranks show fewer after the death of one."""

SAID_WITHIN = 20
"""Lines after an error, of all ranks, in which a program says that it goes on."""

PRINTED_WITHIN = 2
"""The same for what is printed."""

_AT_START = re.compile(r"\bsocket\.cpp:\d|\bTCPStore\.cpp:\d")
_START_FRAME = re.compile(
    r"\bin (?:init_process_group|_create_c10d_store|_?(?:next_)?rendezvous\w{0,20}|init_distributed)$"
)
"""torch writes so, and raises there, while a process looks for the others."""

LAST_LINES = 3
"""Lines at the end of a log in which a program says why it ends."""

BAR = "%|"
"""A part of a bar. Every loop of a program may draw one, so its end is not the job's."""


def is_failure(hit: Hit) -> bool:
    """Whether this line may be why a program failed."""
    is_warning_only = hit.warned or hit.ignored or is_warning(hit.weight)
    return hit.weight > ECHO and not (is_warning_only or cause(hit.symptom).healthy)


class Reached(Alone):
    """The memory of all logs, with the answers that need the training's last lines."""

    def __init__(self) -> None:
        super().__init__()
        self.title = 0
        """The line of a document's title, which is written at the end."""
        self._failures: Tuple[int, int, int] = (0, 0, 0)

    @property
    def last_of_all(self) -> Optional[Line]:
        """The last step of the log if it is the last of all, and hardly a line follows."""
        if self.last_step is None or self.count - self.last_step[0] > CLOSING_WITHIN:
            return None
        return self.last_step[1] if is_last_of_all(self.last_step[1].text) else None

    def _last_failures(self) -> Tuple[int, int]:
        """The line of the last exception, and that of the last statement that something failed. Both are behind every
        other line if a traceback is cut off."""
        if self._failures[0] != self.count:
            streams = (*self.ranks.values(), *self.streams.values())
            behind = self.count + 1 if any(one.is_cut for one in streams) else 0
            raised = max((one.raised[-1].order for one in streams if one.raised), default=0)
            stated = max((one.stated[-1].raised.order for one in streams if one.stated), default=0)
            self._failures = self.count, max(behind, raised), max(behind, stated)
        return self._failures[1:]

    @property
    def failed(self) -> bool:
        """Whether a process ended with an exit code or a signal, and was not started again to the training's end."""
        return any(e.code and not self._is_over(e) for e in self.exits)

    def _is_over(self, one: Exit) -> bool:
        """Whether the same log shows further steps and its end after the end of a process: the launcher or a wrapper
        started it again."""
        source = self.sources[one.line.source]
        if source.end > one.order and source.steps - one.steps > STEPS_PRINTED_LATE:
            return True
        if not self.got_over(one):
            return False
        again, steps = source.again
        runs = again > one.order and self._steps_since(source, again, steps) >= STEPS_WITHOUT_END
        return runs or self.comes_to_its_end(one)

    def at_shutdown(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a server was shutting down as it was told to, and did not fail before."""
        stopping = self.sources[hit.line.source].stopping
        if not 0 < stopping < hit.order or self.failed:
            return False
        return all(one.order > stopping for _, one in self.raised())

    def is_past(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the program got over this, or the log counts on after it and then says of nothing that it failed. Of
        a line without a rank that proves nothing if a process failed: other ranks may count on for a while. A title is
        written at the end."""
        if self.got_over(hit) or self.is_of_earlier_attempt(hit):
            return True
        if ended_its_program(self, hit):
            return False
        rank = hit.line.rank
        last = self.usual.counts_on(hit.order, rank, self.failed)
        if not last or hit.order == self.title or last <= max(self._last_failures()):
            return False
        return rank is not None or not self.failed

    def got_over(self, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether the program says that it goes on after this, and steps follow; or torchrun's agent or a wrapper
        starts it again, and steps follow without another failure, or the log comes to its end. Each failure in between
        is looked at by itself."""
        if hit.order == self.title or self._is_of_machine(hit):
            return False
        if finished_after(self, hit.line):
            return True
        if not self.is_single:
            return False
        source = self.sources[hit.line.source]
        if source.if_near_its_end(source.recovered) > hit.order and self._nothing_failed_after(
            source.recovered
        ):
            return True
        if self._is_of_earlier_trial(source, hit):
            return True
        again, steps = source.agent
        if again >= hit.order and self._nothing_failed_after(again):
            mine = hit.line.rank is not None and self.usual.steps_after(again, hit.line.rank) >= STEPS_AGAIN
            least = STEPS_AGAIN if self._end_of(hit.line.source) > again else STEPS_WITHOUT_END
            return mine or self._steps_since(source, again, steps) >= least
        again, steps = source.again
        if again > hit.order:
            ended = any(one.order < again for one in self.exits) and self._nothing_failed_after(again)
            goes_on = ended or self._end_of(hit.line.source) > again
            return goes_on and self._steps_since(source, again, steps) >= STEPS_AGAIN
        if isinstance(hit, Exit):
            return False
        if self._was_before_the_start(hit):
            return True
        if self._was_told_to_be_ignored(hit):
            return True
        least = 1 if self.comes_to_its_end(hit) else STEPS_PRINTED_LATE + 1
        return self._says_it_goes_on(hit) and self._steps_since(source, hit.order, hit.steps) >= least

    def _is_of_earlier_trial(self, source: Source, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether a sweep went on with another trial after this, in which nothing failed, and it shows steps or names
        the best one at its end; or this is from tests that failed as they should."""
        if any(begun < hit.order < end for begun, end in source.sessions):
            return True
        first, _, last, steps = source.trial
        raised, stated = self._last_failures()
        if not first < hit.order < last or max(self.last_exit, raised) > last:
            return False
        if source.if_near_its_end(source.best) > last:
            return True
        return (
            source.steps - steps >= STEPS_AGAIN and stated < last and not any(one.code for one in self.exits)
        )

    def _was_before_the_start(self, hit: Union[Hit, Raised]) -> bool:
        """Whether this is from before the ranks found each other, and before all steps; and steps follow it and the
        last failure of all. A process that could not start prints no steps."""
        source = self.sources[hit.line.source]
        if hit.steps or not (_AT_START.search(hit.line.text) or self._raised_at_start(hit)):
            return False
        last = max(hit.order, self.last_exit, *self._last_failures())
        return self.usual.steps_after(last) >= STEPS_AGAIN or source.steps >= STEPS_WITHOUT_END

    def _raised_at_start(self, hit: Union[Hit, Raised]) -> bool:
        raised = self.raised_at(hit)
        return raised is not None and any(_START_FRAME.search(frame) for frame in raised.frames)

    def ended_its_rank(self, hit: Union[Hit, Raised, Heard]) -> bool:
        """Whether this rank printed its steps like the others and prints none since, or it raised this and is the one
        that all others lost. They may train on for a while."""
        mine = self.ranks.get(hit.line.rank) if hit.line.rank is not None else None
        if mine is None:
            return False
        is_silent = 0 < mine.last_step < hit.order and mine.steps >= max(LEAST_STEPS, KEPT_PACE * hit.steps)
        raised = any(one.order == hit.order and not one.communication for one in mine.raised)
        return is_silent or (raised and self.is_the_lost_peer(hit.line.rank))

    def _is_of_machine(self, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether this is the report of a device, which holds whatever the program says."""
        return isinstance(hit, Hit) and hit.weight >= PROVEN

    def _steps_since(self, source: Source, order: int, steps: int) -> int:
        """The steps that one rank shows since this line, at the most. `steps`: those before it."""
        return max(source.steps - steps, self.usual.steps_after(order))

    def _says_it_goes_on(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the line of this, or a line soon after it, says that the program goes on. The message of an exception
        that ended it may have such words, too. A printed line may be older than an exception above it."""
        raised = self.raised_at(hit) is not None
        if not raised and EXCEPTION.match(hit.line.text) is None and says_it_goes_on(hit.line.text):
            return True
        return any(
            hit.order
            < one.order
            <= hit.order + (SAID_WITHIN if one.at_once else 0 if raised else PRINTED_WITHIN)
            for one in self.sources[hit.line.source].goes_on
            if one.rank == hit.line.rank
            and (one.rank is not None or not self.ranks or self._is_in_one_stream(hit))
        )

    def _was_told_to_be_ignored(self, hit: Union[Hit, Raised]) -> bool:
        """Whether a line right above this traceback says that the program goes on, and it does: its logger writes the
        last line, or it prints steps and the log comes to its end."""
        raised = self.raised_at(hit)
        if raised is None or not raised.length:
            return False
        above = raised.order - raised.length - 1
        said = next((one for one in self.sources[hit.line.source].goes_on if one.order == above), None)
        if said is None:
            return False
        if said.at_once:
            said_by = self.ranks.get(said.rank) if said.rank is not None else self.seen_of(raised.line)
            last = said_by.last_plain if said_by is not None else None
            return last is not None and last.number > raised.line.number and is_logged(last)
        # It is printed above a traceback, so it waited in no buffer.
        steps = self._steps_since(self.sources[hit.line.source], raised.order, raised.steps)
        return said.tries_another and steps >= STEPS_AGAIN and self.comes_to_its_end(hit)

    def is_of_earlier_attempt(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the program was started again after this, and an exception of its own or a signal ended a later
        attempt."""
        again = self.sources[hit.line.source].again[0]
        if again <= hit.order or not self.is_single:
            return False
        own = any(one.order > again and one.own and not one.communication for _, one in self.raised())
        return own or any(one.order > again and one.code < -1 and one.code != -SIGTERM for one in self.exits)

    def _was_raised_often(self, hit: Union[Hit, Raised]) -> bool:
        """Whether exceptions of this kind without a rank came again and again, and then a rank's own one. torch shows
        the rank of an exception that ends a process, so the program printed the others."""
        raised = self.seen_of(hit.line).raised
        kind = next((one.kind for one in raised if one.order == hit.order), None)
        times = sum(1 for one in raised if one.kind == kind)
        return (
            times >= TIMES
            and not hit.line.local
            and any(
                rank is not None and one.order > hit.order and one.own and not one.communication
                for rank, one in self.raised()
            )
        )

    def _outlives_its_threads(self, raised: Raised) -> bool:
        """Whether the program of a thread that raised this comes to its end, or shows steps and no other exception."""
        source = self.sources[raised.line.source]
        end = source.if_near_its_end(max(source.closing, source.end, source.returned))
        if max(end, self._last_step_of_all(raised.line.source)) > raised.order:
            return True
        alone = all(one.of_thread or one.order < raised.order for _, one in self.raised())
        return alone and self._steps_since(source, raised.order, raised.steps) >= STEPS_WITHOUT_END

    def _nothing_failed_after(self, order: int) -> bool:
        """Whether no process ended with an error after this line, and no exception is there."""
        return max(self.last_exit, *self._last_failures()) <= order

    def comes_to_its_end(self, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether the log of this comes to its end later."""
        return self._end_of(hit.line.source) > hit.order

    def _end_of(self, name: "Optional[str]") -> int:
        """The line with which a log comes to its end, or in which the last of all its steps is; else 0."""
        source = self.sources[name]
        end = source.if_near_its_end(max(source.closing, source.weak_closing, source.end))
        return max(end, self._last_step_of_all(name))

    def _last_step_of_all(self, name: "Optional[str]") -> int:
        """The line of the last of all steps, if it is in this log and hardly a line follows."""
        last = self.last_of_all
        if last is None or last.source != name or BAR in last.text or self.last_step is None:
            return 0
        return self.last_step[0]

    def reached_its_end(self, raised: Raised) -> bool:
        """Whether the rank that raised this trains on in the same log, a logger wrote its last line, and a line says
        that something is done, or the last step of all is there; and no exception comes after that. Or only a thread
        raised it, and its program goes on."""
        if raised.of_thread and not self.failed and self._outlives_its_threads(raised):
            return True
        seen = self.seen_of(raised.line)
        if seen.last_step <= raised.order or self.failed:
            return False
        if seen.last_plain is None or not is_logged(seen.last_plain):
            return False  # Python may have printed the steps before the exception, and shown them later
        return self._end_of(raised.line.source) > max(raised.order, self._last_failures()[0])

    def _failed_at_the_end(self) -> bool:
        """Whether an exception ended a program, or a line names a failure, right before a line that a script around it
        could have printed, and no step is between them."""
        for name, source in self.sources.items():
            end = max(
                source.bare_end if source.bare_end == source.end else 0,
                source.closing if source.closes else 0,
            )
            if not end or source.logged:
                continue
            told = [one for _, one in self.raised() if one.line.source == name and not one.of_thread]
            hits = [
                hit
                for row in self.hits.values()
                for hit in row
                if hit.line.source == name and is_failure(hit)
            ]
            if any(0 < end - one.order <= LAST_LINES and one.steps == source.steps for one in (*told, *hits)):
                return True
        return False

    def _says_failed(self) -> bool:
        """Whether the lines right before one that says that something is done say that it failed."""
        streams = (*self.ranks.values(), *self.streams.values())
        told = ((self.sources[one.raised.line.source], one) for seen in streams for one in seen.stated)
        told = (pair for pair in told if pair[1].raised.line.rank is None)
        return any(
            source.closes
            and not source.succeeded
            and 0 < source.closing - one.raised.order <= LAST_LINES
            and says_failed(one.raised.line.text, one.sure)
            for source, one in told
        )
