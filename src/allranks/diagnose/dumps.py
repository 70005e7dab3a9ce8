"""The stacks of processes that a log shows, as records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Tuple

from allranks.core.rank_events import Frame
from allranks.diagnose.lines import Line


@dataclass
class Thread:
    """One thread of a dump. `frames`: the innermost first, each with the number of its line."""

    is_main: bool
    frames: List[Tuple[Frame, int]] = field(default_factory=list)


@dataclass
class Dump:
    """The stacks of a process. `process`: its number or address, by which it is known without a rank; `named`: the
    rank that a line before it names; `steps`: those that its log showed before."""

    line: Line
    order: int
    process: str
    named: Optional[int]
    steps: int
    at: Optional[float]
    threads: List[Thread] = field(default_factory=list)

    @property
    def main(self) -> Thread:
        return next((one for one in self.threads if one.is_main), self.threads[-1])

    @property
    def frames(self) -> List[Frame]:
        """Those of the main thread, outermost first."""
        return [frame for frame, _ in reversed(self.main.frames)]


@dataclass
class OpenDump:
    """The dump that a stream is in, by its number; `last`: the last line of it in the stream; None: that of a crash."""

    dump: Optional[int]
    last: int
    process: str = ""
    named: Optional[int] = None
    of_py_spy: bool = False


@dataclass
class Dumps:
    kept: Dict[int, Dump] = field(default_factory=dict)
    places: Dict[Tuple[Any, ...], OpenDump] = field(default_factory=dict)
