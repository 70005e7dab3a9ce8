"""Lines of a log that healthy runs print over and over and that help nobody, and the colours in any line.

Only what says nothing of this run is noise: a warning that may be the cause of something is not. Standard library
alone.
"""

from __future__ import annotations

import re
from typing import List

_COLOURS = re.compile(r"\x1b\[[0-9;:]*[mK]")
"""SGR and "erase to the end of the line" (ECMA-48): the codes with which programs colour the lines of a terminal."""

_WARNING = re.compile(r"^\S{1,400}\.py:\d+: (?:Future|Deprecation|PendingDeprecation)Warning: ")
_NOISE = re.compile(
    r"^\[W\S{1,40} \S{1,40} \S{1,80}\] Warning: Environment variable \S{1,80} is deprecated"
    r"|The client socket has failed to connect to \[localhost\]"
    r"|The hostname of the client socket cannot be retrieved\. err=-3"
    r"|Setting OMP_NUM_THREADS environment variable for each process"
    r"|\bNET/Plugin: (?:No plugin found|Could not find: libnccl-net\.so)"
    r"|Installed CUDA version \S{1,20} does not match the version torch was compiled with .{0,80} accepting"
    r"|^\*{20,}$"
)


def without_colours(line: str) -> str:
    return _COLOURS.sub("", line) if "\x1b" in line else line


class Noise:
    """One stream of lines: `holds(line)` returns whether this line is noise. A Python warning has two lines; the
    second one quotes the source after two spaces."""

    def __init__(self) -> None:
        self._source_next = False

    def holds(self, line: str) -> bool:
        follows, self._source_next = self._source_next and line.startswith("  "), False
        if follows:
            return True
        self._source_next = _WARNING.match(line) is not None
        return self._source_next or _NOISE.search(line) is not None


class Lines:
    """Pieces of a file → whole lines as a terminal would show them, without colours."""

    def __init__(self) -> None:
        self._rest = ""

    def add(self, text: str) -> List[str]:
        *whole, self._rest = (self._rest + text).split("\n")
        return [shown(line) for line in whole]


def shown(line: str) -> str:
    """The line as a terminal shows it. A progress bar writes over itself: only the text after the last carriage
    return stays visible."""
    return without_colours(line.rstrip("\r").rsplit("\r", 1)[-1])
