"""Whether a job trained on after an error, and whether it then came to its end."""

from __future__ import annotations

from typing import Optional, Tuple, Union

from allranks.diagnose.alone import STEPS_PRINTED_LATE, Alone
from allranks.diagnose.counting import is_logged
from allranks.diagnose.going_on import says_it_goes_on
from allranks.diagnose.lines import Line
from allranks.diagnose.sources import CLOSING_WITHIN, is_last_of_all
from allranks.diagnose.store import Exit
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Hit

STEPS_AGAIN = 3
"""Steps that a program shows at least after it was started again, if its log comes to its end."""

STEPS_WITHOUT_END = 10
"""The same if it does not. Another node's ranks show fewer after the death of one."""

SAID_WITHIN = 20
"""Lines after an error, of all ranks, in which a program says that it goes on."""

PRINTED_WITHIN = 2
"""The same for what is printed."""

BAR = "%|"
"""A part of a bar. Every loop of a program may draw one, so its end is not the job's."""


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

    def is_past(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the program got over this, or the log counts on after it and then says of nothing that it failed. Of
        a line without a rank that proves nothing if a process failed: other ranks may count on for a while. A title is
        written at the end."""
        if self.got_over(hit) or self.is_of_earlier_attempt(hit):
            return True
        rank = hit.line.rank
        last = self.usual.counts_on(hit.order, rank, self.failed)
        if not last or hit.order == self.title or last <= max(self._last_failures()):
            return False
        return rank is not None or not self.failed

    def got_over(self, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether the program says that it goes on after this, and steps follow; or its wrapper that it starts it
        again, and the log then comes to its end. Each failure in between is looked at by itself."""
        source = self.sources[hit.line.source]
        if hit.order == self.title or not self.usual.is_single:
            return False
        again, steps = source.agent
        if again >= hit.order and self._nothing_failed_after(again):
            later = max(source.steps - steps, self.usual.steps_after(again))
            return later >= (STEPS_AGAIN if self._end_of(hit.line.source) > again else STEPS_WITHOUT_END)
        again, steps = source.again
        if again > hit.order:
            later = max(source.steps - steps, self.usual.steps_after(again))
            return self._end_of(hit.line.source) > again and later >= STEPS_AGAIN
        if isinstance(hit, Exit) or not (says_it_goes_on(hit.line.text) or self._goes_on_behind(hit)):
            return False
        later = max(source.steps - hit.steps, self.usual.steps_after(hit.order))
        return later > (0 if self.comes_to_its_end(hit) else STEPS_PRINTED_LATE)

    def is_of_earlier_attempt(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the program was started again after this, and an exception of its own ended a later attempt."""
        again = self.sources[hit.line.source].again[0]
        return again > hit.order and any(
            one.order > again and one.own and not one.communication and one.line.source == hit.line.source
            for _, one in self.raised()
        )

    def _nothing_failed_after(self, order: int) -> bool:
        """Whether no process ended with an error after this line, and no exception is there."""
        exits = max((one.order for one in self.exits if one.code), default=0)
        return max(exits, *self._last_failures()) <= order

    def comes_to_its_end(self, hit: Union[Hit, Raised, Exit]) -> bool:
        """Whether the log of this comes to its end later."""
        return self._end_of(hit.line.source) > hit.order

    def _goes_on_behind(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the program says soon after this that it goes on. A printed line may be older than an exception above
        it, but not than another printed line."""
        told = [one for one in self.sources[hit.line.source].goes_on if one[0] > hit.order]
        if not told:
            return False
        streams = (*self.ranks.values(), *self.streams.values())
        raised = isinstance(hit, Raised) or any(r.order == hit.order for seen in streams for r in seen.raised)
        return any(
            order <= hit.order + (SAID_WITHIN if at_once else 0 if raised else PRINTED_WITHIN)
            for order, at_once in told
        )

    def _end_of(self, name: "Optional[str]") -> int:
        """The line with which a log comes to its end, or in which the last of all its steps is; else 0."""
        source = self.sources[name]
        end = max(source.closing, source.weak_closing, source.end)
        end = end if source.last - end <= CLOSING_WITHIN else 0
        last = self.last_of_all
        if last is not None and last.source == name and BAR not in last.text and self.last_step:
            end = max(end, self.last_step[0])
        return end

    def reached_its_end(self, raised: Raised) -> bool:
        """Whether the rank that raised this trains on in the same log, a logger wrote its last line, and a line says
        that something is done, or the last step of all is there; and no exception comes after that."""
        if raised.of_thread and not self.failed and self._end_of(raised.line.source):
            return True  # the program goes on without the thread, and what it printed may be older
        seen = self.seen_of(raised.line)
        if seen.last_step <= raised.order or self.failed:
            return False
        if seen.last_plain is None or not is_logged(seen.last_plain):
            return False  # Python may have printed the steps before the exception, and shown them later
        return self._end_of(raised.line.source) > max(raised.order, self._last_failures()[0])
