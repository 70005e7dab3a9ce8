"""The functions of a script: `main() { … }`. Their commands count at each call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from allranks.spec.shell import Statement, Word
from allranks.spec.shell_assignments import assignment
from allranks.spec.shell_branches import BEGINS, ENDS


@dataclass
class Definition(Statement):
    """`NAME() { … }`, with its commands."""

    name: str = ""
    body: list[Statement] = field(default_factory=list)
    subshell: bool = False
    """Whether the body is `( … )`, so that its changes end with it."""
    file: str | list[str] | None = None
    """The file in which it is defined: its BASH_SOURCE."""


def taken_out(found: Iterable[Statement]) -> list[Statement]:
    """The commands, with those of each function in its definition. A function that is defined in an `if` or a loop
    stays where it is: nobody knows whether it is defined."""
    rest: list[Statement] = []
    now: Definition | None = None
    open_: list[str] = []
    for statement in found:
        begun = 0
        for place, keyword in enumerate(statement.keywords):
            if now is None and not open_ and keyword.endswith("()"):
                now = Definition(statement.line, name=keyword[:-2])
                rest.append(now)
                begun = place + 1
            elif now is not None and not open_ and keyword in ("{", "("):
                now.subshell = keyword == "("
                begun = place + 1
            elif now is not None and keyword in ("}", ")") and open_ == [ENDS[keyword]]:
                add(now.body, statement, begun, place)
                now, begun = None, place + 1
            follow(open_, keyword)
        add(rest if now is None else now.body, statement, begun)
    return rest


def follow(open_: list[str], keyword: str) -> None:
    """Keeps the compound commands that are open."""
    if keyword == "if" or keyword in BEGINS:
        open_.append(BEGINS.get(keyword, "if"))
    elif keyword in ENDS and open_[-1:] == [ENDS[keyword]]:
        open_.pop()


def add(to: list[Statement], statement: Statement, begun: int, end: int | None = None) -> None:
    """The command behind these keywords; with `end` only the keywords."""
    keywords = statement.keywords[begun:end]
    if end is None:
        to.append(replace(statement, keywords=keywords))
    elif keywords:
        to.append(Statement(statement.line, keywords=keywords))


def own_variables(body: Iterable[Statement]) -> set[str]:
    """The variables that a function has for itself: `local A=1 B`."""
    declaring = [one.words[1:] for one in body if one.first in ("local", "declare", "typeset")]
    words = [word for one in declaring if not has_option(one, "g") for word in one]
    return {told[0] if (told := assignment(word)) else word.plain for word in words}


def has_option(words: Iterable[Word], letter: str) -> bool:
    """Whether `declare -gx` has this option."""
    return any(word.plain.startswith("-") and letter in word.plain for word in words)
