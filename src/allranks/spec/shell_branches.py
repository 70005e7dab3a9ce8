"""Which parts of a script run: its `if`s as far as their conditions are known, and loops, of which nobody knows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from allranks.spec.shell import Statement, Word
from allranks.spec.shell_assignments import assignment
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
SURE = ("export", "declare", "typeset", "readonly", "local", ":", "true", "echo", "printf")
"""Commands that succeed, besides assignments."""

QUERIES = (
    "grep",
    "egrep",
    "command",
    "type",
    "which",
    "hash",
    "pgrep",
    "diff",
    "cmp",
    "mountpoint",
    "timeout",
    "read",
)
"""Commands that are asked for their success; only a shell knows it."""

ASSUMED = "assumed"
"""The success of any other command: scripts rely on it, and continue after `||` all the same."""

Expand = Callable[[Word], list[str]]

Empty = tuple[str, bool] | None
"""A variable, and whether a part runs if it is empty (else if it is not)."""


@dataclass
class Frame:
    """A compound command that is open. `runs` says whether the part that is read runs, `before` whether an earlier
    part of the same `if` did; None if only a shell would know."""

    kind: str
    runs: bool | None = None
    before: bool | None = False
    empty: Empty = None


@dataclass
class Branches:
    """Fed with the statements of a script in their order, it says of each whether it runs."""

    expand: Expand
    open: list[Frame] = field(default_factory=list)
    last: tuple[bool | str | None, str] | None = None
    """The status of the list so far (`a && b`), and the operator after it: `&&` or `||`."""
    defines: bool = False
    """Whether the body of a function follows."""
    assumed: bool = False
    """Whether the last statement runs only if a command before it in the list does what scripts rely on."""
    asked: Empty = None
    """The question of the last command, if it alone decides whether the next one runs."""
    unset: str | None = None
    """The variable whose emptiness alone decides whether the last statement runs."""

    def runs(self, statement: Statement) -> bool | None:
        """Whether the statement runs; None if only a shell would know."""
        for keyword in statement.keywords:
            self.enter(keyword, statement)
        here = reached(self.last)
        self.assumed = self.last is not None and self.last[0] == ASSUMED
        parts = [*(frame.runs for frame in self.open), here]
        doubts = [frame.empty for frame in self.open if frame.runs is None]
        doubts += [self.asked] if here is None else []
        (doubt,) = doubts if len(doubts) == 1 else (None,)
        self.unset = doubt[0] if doubt is not None and doubt[1] else None
        asked = emptiness(statement) if here else None
        self.asked = turned(asked) if statement.end == "||" else asked
        if statement.end not in ("|", "|&"):  # a pipeline has the status of its last command
            status = self.status(statement) if here else None if here is None else (self.last or (None,))[0]
            self.last = (status, statement.end) if statement.end in ("&&", "||") else None
        return False if False in parts else None if None in parts else True

    def status(self, statement: Statement) -> bool | str | None:
        """The status of a command that runs; None if only a shell would know."""
        first, last = statement.first, statement.words[-1].plain if statement.words else ""
        if first in TESTS:
            return self.test(statement)
        if not first or first in QUERIES or last == "]]":  # a subshell, a sum, the rest of `[[ a && b ]]`
            return None
        if first == "false":
            return False
        return True if first in SURE or all(map(assignment, statement.words)) else ASSUMED

    def enter(self, keyword: str, statement: Statement) -> None:
        defines, self.defines = self.defines, keyword.endswith("()")
        if keyword == "{" and not defines:
            is_assumed = self.last is not None and self.last[0] == ASSUMED
            self.open.append(Frame("{", None if is_assumed else reached(self.last)))
        elif keyword == "if":
            alone = statement.end not in ("&&", "||")
            self.open.append(Frame("if", self.test(statement) if alone else None))
            self.open[-1].empty = emptiness(statement) if alone else None
        elif keyword in BEGINS:
            known = self.test(statement) if statement.end not in ("&&", "||") else None
            never = keyword in ("while", "until") and known == (keyword == "until") and known is not None
            once = keyword == "for" and self.only_item(statement) is not None
            self.open.append(Frame(BEGINS[keyword], False if never else True if once else None))
        elif keyword in ENDS:
            if self.open and self.open[-1].kind == ENDS[keyword]:
                self.open.pop()
        elif keyword in ("elif", "else") and self.open and self.open[-1].kind == "if":
            frame = self.open[-1]
            frame.empty = turned(frame.empty) if keyword == "else" else None
            earlier = either(frame.before, frame.runs)
            now = self.test(statement) if keyword == "elif" else True
            frame.before = earlier
            frame.runs = False if earlier else None if earlier is None or now is None else now

    def leave_loop(self) -> None:
        """`break` or `continue`: whether the rest of the loop runs is not known here."""
        for frame in reversed(self.open):
            if frame.kind == "loop":
                frame.runs = None
                break

    def only_item(self, statement: Statement) -> str | None:
        """The one word that `for NAME in WORD` goes through: such a loop runs once."""
        if "for" not in statement.keywords or [word.plain for word in statement.words[1:2]] != ["in"]:
            return None
        items = [text for word in statement.words[2:] for text in self.expand(word)]
        is_known = len(items) == 1 and items[0] and unresolved(items[0]) is None
        is_known = is_known and not set(items[0]) & set("*?[{")
        return items[0] if is_known else None

    def test(self, statement: Statement) -> bool | None:
        """The value of `[ … ]`; None for anything else, and where a variable is not known."""
        words = [text for word in statement.words for text in self.expand(word) or [""]]
        if not words or words[0] not in TESTS or any(unresolved(word) for word in words):
            return None
        if words[0] == "[[" and (words[-1] != "]]" or any(map(has_pattern, statement.words))):
            return None
        inner = [word for word in words[1:] if word not in ("]", "]]")]
        negated = (inner[:1] == ["!"]) != (statement.keywords.count("!") % 2 == 1)
        inner = inner[1:] if inner[:1] == ["!"] else inner
        found = value(inner)
        return found if found is None or not negated else not found


def reached(last: tuple[bool | str | None, str] | None) -> bool | None:
    """Whether the command behind `last` runs."""
    if last is None or last[0] == ASSUMED:
        return True
    status, sign = last
    return None if status is None else bool(status) == (sign == "&&")


def emptiness(statement: Statement) -> Empty:
    """What `[ -z "$A" ]` and `[ "$A" != "" ]` ask."""
    if statement.first not in TESTS:
        return None
    inner = [word for word in statement.words[1:] if word.plain not in ("]", "]]")]
    negated = statement.keywords.count("!") % 2 == 1
    if inner and inner[0].plain == "!":
        negated, inner = not negated, inner[1:]
    signs = [word.plain for word in inner]
    if len(inner) == 2 and signs[0] in ("-z", "-n"):
        word, asks = inner[1], signs[0] == "-z"
    elif len(inner) == 3 and signs[1] in ("=", "==", "!=") and signs[2] == "":
        word, asks = inner[0], signs[1] != "!="
    else:
        return None
    parts = [part for part in word.parts if part.kind != "text" or part.text]
    if len(parts) != 1 or parts[0].kind != "variable" or parts[0].all or parts[0].instead:
        return None
    return parts[0].text, asks != negated


def turned(empty: Empty) -> Empty:
    return None if empty is None else (empty[0], not empty[1])


def has_pattern(word: Word) -> bool:
    """Whether `[[ … ]]` would compare with a pattern."""
    parts = [part for part in word.parts if part.kind == "text" and not part.quoted]
    return word.plain not in ("[[", "]]") and any(set(part.text) & set("*?[") for part in parts)


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
