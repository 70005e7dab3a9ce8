"""The memory of one log file while lines are read."""

from __future__ import annotations

import re
from typing import Dict, List, NamedTuple, Optional, Tuple

from allranks.diagnose.streams import Seen
from allranks.diagnose.usual import Unknown, Usual

CLOSING_WITHIN = 12
"""Lines after one that says that something is done, if that is the job."""

_OF_ALL = re.compile(r"(?<![\d/.])(\d{1,9})/(\d{1,9})(?![\d/.])")


def is_last_of_all(text: str) -> bool:
    """Whether a step is the last of all by each of its counts (`Epoch [3/3], Step [70/70]`)."""
    counts = _OF_ALL.findall(text)
    return bool(counts) and all(int(n) == int(of) for n, of in counts)


class GoesOn(NamedTuple):
    """A line in which a rank says that it goes on in spite of an error."""

    order: int
    rank: Optional[int]
    at_once: bool
    """Whether it waited in no buffer."""
    tries_another: bool
    """Whether it says that something else is tried instead."""


class Source:
    """One log file: its last time stamp, its last line, the step lines of the rank that printed most of them, and the
    last line in which a rank reports that the training ended: the line's number over all sources, and the rank."""

    __slots__ = (
        "_of", "again", "agent", "answered", "bare_end", "best", "closed_at_once", "closing", "end", "end_rank",
        "goes_on", "last", "lines", "logged", "recovered", "returned", "sample", "samples", "served", "session",
        "sessions", "steps", "stopping", "succeeded", "time", "told", "trial", "usual", "weak_closing",
    )  # fmt: skip

    def __init__(self, reads_end: bool = True) -> None:
        self.time: Optional[str] = None
        self.usual = Usual() if reads_end else Unknown()
        self.lines = 0
        self.sample = 0
        """The line that heads an example of the training's data, until the next part of the example."""
        self.samples: List[Tuple[int, int]] = []
        """Lines between which such an example is printed."""
        self.steps = 0
        self.again: Tuple[int, int] = (0, 0)
        """The last line that says that the program was started again, and the steps before it."""
        self.agent: Tuple[int, int] = (0, 0)
        """The last line in which torchrun's agent says that an attempt failed, and the steps before it."""
        self.goes_on: List[GoesOn] = []
        """Lines in which a rank says that it goes on in spite of an error."""
        self.trial: Tuple[int, int, int, int] = (0, 0, 0, 0)
        """Of a sweep: the line of its first heading, the number of the last trial, the line of its heading, the steps
        before it. The numbers rise."""
        self.session = 0
        """The line with which pytest began, until it ends."""
        self.sessions: List[Tuple[int, int]] = []
        """The lines between which pytest ran, if no test failed that should not."""
        self.last = 0
        self.closing = 0
        """The last line that says that something is done: the job, if hardly a line follows."""
        self.closed_at_once = False
        """Whether a logger wrote that line, which waits in no buffer."""
        self.best = 0
        """The last line that names the best trial of a sweep."""
        self.recovered = 0
        """The last line in which a wrapper says that its program succeeded when it was started again."""
        self.returned = 0
        """The last line in which a wrapper says that its program returned 0."""
        self.weak_closing = 0
        """The last line that says that a part of the job is done, or that a program returned 0."""
        self.succeeded = False
        """Whether that line names a success."""
        self.logged = False
        """Whether a logger printed that line and named a success: a shell goes on after its program fails, too."""
        self.stopping = 0
        """The line in which a server began to shut down as it was told to."""
        self.served = 0
        """The last line in which a server logs that it answered a request well."""
        self.answered = 0
        """The last line in which it logs any answer but that it failed."""
        self.told = 0
        """The last line in which a program says that a signal told it to end."""
        self.end = 0
        self.end_rank: Optional[int] = None
        self.bare_end = 0
        """The last such line if a script around the training could have printed it."""
        self._of: Dict[int, int] = {}

    def quotes(self, order: int) -> bool:
        """Whether this line is a part of an example of the training's data."""
        return any(begun < order < end for begun, end in self.samples)

    def took(self, lines: int, last: int, time: Optional[str]) -> None:
        """Counts lines up to the line `last` over all sources, with the last time in them, if there is one."""
        self.lines, self.last, self.time = self.lines + lines, last, time or self.time

    @property
    def closes(self) -> bool:
        """Whether the log ends soon after a line that says that something is done. Then that was the job."""
        return bool(self.if_near_its_end(self.closing))

    def if_near_its_end(self, order: int) -> int:
        """This line, if hardly a line of the log follows it; else 0."""
        return order if self.last - order <= CLOSING_WITHIN else 0

    def step(self, seen: Seen, count: int = 1) -> None:
        """In one log of many ranks each of them prints every step: counted over all, one step looks like many."""
        self._of[id(seen)] = self._of.get(id(seen), 0) + count
        self.steps = max(self.steps, self._of[id(seen)])
