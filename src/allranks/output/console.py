"""The console for all text, with allranks' rules. Everything that is printed passes through `Out`.

It never interprets markup and never sends a control character. If the terminal's encoding cannot show a character,
the character is spelt out, and nothing is raised.
"""

from __future__ import annotations

import os
import sys
from typing import IO

from rich.console import Console
from rich.text import Text

from allranks.output.report_text import readable

WIDEST = 200
PLAIN = str.maketrans(
    {"→": "->", "…": "...", "—": "-", "–": "-", "·": "-", "−": "-", "⏎": "|", "’": "'", "\u00a0": " "}
)


class Out:
    """A console that knows whether it is a live terminal (`live`) and whether it can show more than ASCII."""

    def __init__(
        self,
        file: IO[str] | None = None,
        width: int | None = None,
        live: bool | None = None,
        record: bool = False,
    ):
        target: IO[str] = file if file is not None else sys.stdout
        self.live = is_terminal(target) if live is None else live
        self.console = Console(
            file=target,
            width=width,
            record=record,
            markup=False,
            highlight=False,
            emoji=False,
            soft_wrap=False,
            force_terminal=self.live,
            no_color=True if not self.live or os.environ.get("NO_COLOR") else None,
        )
        self.encoding = (getattr(target, "encoding", None) or "utf-8").lower()
        self.ascii = "utf" not in self.encoding
        self._fixed_width = width

    @property
    def width(self) -> int:
        """The number of columns for the layout. A terminal may be resized at any time."""
        return min(self._fixed_width or self.console.width, WIDEST)

    def fit(self, text: str) -> str:
        """The text in a form that this encoding can show."""
        if not self.ascii:
            return text
        return text.translate(PLAIN).encode(self.encoding, "backslashreplace").decode(self.encoding)

    def text(self, *parts: str | tuple[str, str]) -> Text:
        """A line from texts and (text, style) pairs. The texts may come from any source."""
        line = Text(no_wrap=True)
        for part in parts:
            said, style = part if isinstance(part, tuple) else (part, "")
            line.append(self.fit(readable(said)), style=style or None)
        return line

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Prints one line of any length: a pipe gets it whole, a terminal wraps it by itself."""
        self.console.print(self.text(*parts), soft_wrap=True)


def is_terminal(file: IO[str]) -> bool:
    """Whether it is a terminal that understands cursor movement. FORCE_COLOR does not turn a pipe into one."""
    try:
        return file.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown", "")
    except (AttributeError, ValueError):
        return False
