"""Lines of one log that are taken together: steps and plain text, which are counted, and the frames of a traceback."""

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


class Frames(NamedTuple):
    """Lines of one place that follow each other: a traceback's heading or none, frames, and plain text. `place` is a
    line without its text, with the last time; `number` is that of the last frame, from 1 on; `texts` are the innermost
    frames, the innermost last; `own` is the innermost one of the user's own code; `plain` is the last line of plain
    text, without those that only mark a part of a statement; `headed`: the first line is the heading."""

    place: Line
    lines: int
    number: int
    last: Line
    texts: Tuple[str, ...]
    own: str
    plain: Optional[Line]
    headed: bool
