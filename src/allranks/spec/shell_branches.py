"""Which parts of a script run: its `if`s as far as their conditions are known, and loops, of which nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from allranks.spec.shell import Statement, Word
from allranks.spec.shell_values import unresolved

ENDS = {"fi": "if", "done": "loop", "esac": "case", "}": "{", ")": "("}
BEGINS = {
    "for": "loop",
    "while": "loop",
    "until": "loop",
    "select": "loop",
    "case": "case",
    "{": "{",
    "(": "(",
}
TESTS = ("[", "[[", "test")

Expand = Callable[[Word], list[str]]


@dataclass
class Frame:
    """A compound command that is open. `runs` says whether the part that is read runs, `before` whether an earlier
    part of the same `if` did; None if only a shell would know."""

    kind: str
    runs: bool | None = None
    before: bool | None = False


@dataclass
class Branches:
    """Fed with the statements of a script in their order, it says of each whether it runs."""

    expand: Expand
    open: list[Frame] = field(default_factory=list)
    last: tuple[bool | None, str] | None = None
    """The value of the test before, and the operator after it: `&&` or `||`."""

    def runs(self, statement: Statement) -> bool | None:
        """Whether the statement runs; None if only a shell would know."""
        for keyword in statement.keywords:
            self.enter(keyword, statement)
        parts = [frame.runs for frame in self.open]
        if self.last is not None and self.last[1] in ("&&", "||"):
            value, sign = self.last
            parts.append(value if value is None or sign == "&&" else not value)
        is_test = statement.first in TESTS
        self.last = (self.test(statement), statement.end) if is_test else None
        return False if False in parts else None if None in parts else True

    def enter(self, keyword: str, statement: Statement) -> None:
        if keyword == "if":
            self.open.append(Frame("if", None if statement.end in ("&&", "||") else self.test(statement)))
            self.open[-1].before = False
        elif keyword in BEGINS:
            self.open.append(Frame(BEGINS[keyword]))
        elif keyword in ENDS:
            if self.open and self.open[-1].kind == ENDS[keyword]:
                self.open.pop()
        elif keyword in ("elif", "else") and self.open and self.open[-1].kind == "if":
            frame = self.open[-1]
            earlier = either(frame.before, frame.runs)
            now = self.test(statement) if keyword == "elif" else True
            frame.before = earlier
            frame.runs = False if earlier else None if earlier is None or now is None else now

    def test(self, statement: Statement) -> bool | None:
        """The value of `[ … ]`; None for anything else, and where a variable is not known."""
        words = [text for word in statement.words for text in self.expand(word) or [""]]
        if not words or words[0] not in TESTS or any(unresolved(word) for word in words):
            return None
        inner = [word for word in words[1:] if word not in ("]", "]]")]
        negated = inner[:1] == ["!"]
        found = value(inner[1:] if negated else inner)
        return found if found is None or not negated else not found


def value(words: list[str]) -> bool | None:
    if len(words) == 2 and words[0] in ("-z", "-n"):
        return (words[1] == "") == (words[0] == "-z")
    if len(words) == 3 and words[1] in ("=", "==", "!="):
        return (words[0] == words[2]) == (words[1] != "!=")
    if len(words) == 3 and words[0].isdigit() and words[2].isdigit():
        one, other = int(words[0]), int(words[2])
        compared = {"-eq": one == other, "-ne": one != other, "-gt": one > other, "-lt": one < other}
        return {**compared, "-ge": one >= other, "-le": one <= other}.get(words[1])
    return None


def either(one: bool | None, other: bool | None) -> bool | None:
    if one or other:
        return True
    return None if None in (one, other) else False
