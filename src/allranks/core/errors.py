"""The errors that cross rooms. Each knows the exit code that a verb ends with.

Exit codes: 0 fine, 1 blocked or the run failed, 2 bad input, 3 could not tell, 4 a bug in allranks.
"""

from __future__ import annotations

from typing import Iterable, List


class AllranksError(Exception):
    """The base of every error that we raise on purpose."""

    exit_code = 4


class Problem:
    """One thing wrong in what the user gave us: place, what was seen, why it matters, what to do.

    `file` and `line` are None if the input was not a file; `line` counts from 1.
    """

    __slots__ = ("do", "file", "line", "saw", "why")

    def __init__(
        self, saw: str, why: str = "", do: str = "", file: "str | None" = None, line: "int | None" = None
    ):
        self.saw, self.why, self.do, self.file, self.line = saw, why, do, file, line

    def __str__(self) -> str:
        place = (
            f"{self.file}:{self.line}  " if self.file and self.line else f"{self.file}  " if self.file else ""
        )
        text = place + self.saw
        if self.why:
            text += f"\n  why  {self.why}"
        if self.do:
            text += f"\n  fix  {self.do}"
        return text

    def as_json(self) -> dict:
        return {"file": self.file, "line": self.line, "saw": self.saw, "why": self.why, "do": self.do}


class BadInput(AllranksError):
    """Something the user wrote cannot be used. Holds every problem found, not the first one alone."""

    exit_code = 2

    def __init__(self, problems: "Iterable[Problem] | Problem"):
        self.problems: List[Problem] = [problems] if isinstance(problems, Problem) else list(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class Blocked(AllranksError):
    """A finding forbids going on, or a run failed."""

    exit_code = 1


class CouldNotTell(AllranksError):
    """The command could not look at the thing that it was asked about (a lost node, an unreadable file)."""

    exit_code = 3
