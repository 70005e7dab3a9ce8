"""Whether a job trained on after an error and then came to its end."""

from __future__ import annotations

from typing import Optional, Union

from allranks.diagnose.alone import Alone
from allranks.diagnose.catalogue import cause
from allranks.diagnose.lines import Line
from allranks.diagnose.sources import CLOSING_WITHIN, is_last_of_all
from allranks.diagnose.streams import Raised
from allranks.diagnose.symptom import Hit

BAR = "%|"


class Reached(Alone):
    """The memory of all logs, with the answers that need the training's last lines."""

    def __init__(self) -> None:
        super().__init__()
        self.title = 0
        """The line of a document's title, which is written at the end."""

    @property
    def last_of_all(self) -> Optional[Line]:
        """The last step of the log if it is the last of all, and hardly a line follows."""
        if self.last_step is None or self.count - self.last_step[0] > CLOSING_WITHIN:
            return None
        return self.last_step[1] if is_last_of_all(self.last_step[1].text) else None

    def is_past(self, hit: Union[Hit, Raised]) -> bool:
        """Whether the job was started again after this, or counts on. Of a line without a rank that proves nothing if a
        process failed: other ranks may count on for a while. A title is written at the end."""
        rank = hit.line.rank
        if hit.order < self.restarted:
            return True
        return (
            hit.order != self.title
            and (rank is not None or not self.failed)
            and self.counts_on(hit.order, rank)
        )

    def reached_its_end(self, hit: Union[Hit, Raised]) -> bool:
        """Whether steps follow in the same log, then a line that says that something is done or the last step of all,
        and no exception after that. Of an exception, the steps must be those of the rank that raised it: other ranks
        may print some more."""
        if isinstance(hit, Hit) and cause(hit.symptom).holds_after_the_end:
            return False
        source, seen = self.sources[hit.line.source], self.seen_of(hit.line)
        is_raised = isinstance(hit, Raised) or any(one.order == hit.order for one in seen.raised)
        goes_on = seen.last_step > hit.order if is_raised else source.steps > hit.steps
        if (
            not goes_on
            or self.failed
            or any(one.is_cut for one in (*self.ranks.values(), *self.streams.values()))
        ):
            return False
        end = max(source.closing if source.closes else 0, source.end)
        if self.last_step is not None and self.last_of_all is not None and BAR not in self.last_step[1].text:
            end = max(end, self.last_step[0])  # every loop of a program may draw a bar
        return end > max((hit.order, *(one.order for _, one in self.raised())))
