"""Whether a job trained on after an error, and whether it then came to its end."""

from __future__ import annotations

from typing import Optional, Tuple, Union

from allranks.diagnose.alone import Alone
from allranks.diagnose.counting import is_logged
from allranks.diagnose.lines import Line
from allranks.diagnose.sources import CLOSING_WITHIN, is_last_of_all
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Hit

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
        """Whether the log counts on after this and then says of nothing that it failed. Of a line without a rank that
        proves nothing if a process failed: other ranks may count on for a while. A title is written at the end."""
        rank = hit.line.rank
        last = self.usual.counts_on(hit.order, rank)
        if not last or hit.order == self.title or last <= max(self._last_failures()):
            return False
        return rank is not None or not self.failed

    def reached_its_end(self, raised: Raised) -> bool:
        """Whether the rank that raised this trains on in the same log, a logger wrote its last line, and a line says
        that something is done, or the last step of all is there; and no exception comes after that."""
        source, seen = self.sources[raised.line.source], self.seen_of(raised.line)
        if seen.last_step <= raised.order or self.failed:
            return False
        if seen.last_plain is None or not is_logged(seen.last_plain):
            return False  # Python may have printed the steps before the exception, and shown them later
        end = max(source.closing, source.weak_closing, source.end)
        end = end if source.last - end <= CLOSING_WITHIN else 0
        last = self.last_of_all
        if last is not None and last.source == raised.line.source and BAR not in last.text and self.last_step:
            end = max(end, self.last_step[0])
        return end > max(raised.order, self._last_failures()[0])
