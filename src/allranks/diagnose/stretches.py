"""Lines of one log that hold nothing but steps and plain text, counted together."""

from __future__ import annotations

from typing import NamedTuple, Optional, Tuple

from allranks.diagnose.lines import Line


class Part(NamedTuple):
    """The lines that one place (rank, machine, local rank, task) printed in a stretch. Its lines are numbered from 1
    on; `plain` and `step` are the last ones of their kind, `place` is a line without its text."""

    place: Line
    lines: int
    first: int
    last: int
    plain: Optional[Tuple[int, Line]]
    steps: int
    step: Optional[Tuple[int, Line]]


class Stretch(NamedTuple):
    """Lines of one log that follow each other and hold nothing but steps and plain text."""

    source: Optional[str]
    lines: int
    time: Optional[str]
    parts: Tuple[Part, ...]
