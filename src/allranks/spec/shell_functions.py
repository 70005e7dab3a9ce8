"""The functions of a script: `main() { … }`. Their commands count at each call."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from allranks.spec.shell import Statement
from allranks.spec.shell_assignments import assignment
from allranks.spec.shell_branches import BEGINS, ENDS

Functions = dict[str, list[Statement]]
"""The commands of each function."""


def taken_out(found: Iterable[Statement]) -> tuple[list[Statement], Functions]:
    """The commands outside functions, and the functions. One that is defined in an `if` or a loop stays where it is:
    nobody knows whether it is defined."""
    rest: list[Statement] = []
    functions: Functions = {}
    body: list[Statement] | None = None
    open_: list[str] = []
    for statement in found:
        begun = 0
        for place, keyword in enumerate(statement.keywords):
            if body is None and not open_ and keyword.endswith("()"):
                body = functions[keyword[:-2]] = []
                begun = place + 1
            elif body is not None and not open_ and keyword in ("{", "("):
                begun = place + 1
            elif body is not None and keyword in ("}", ")") and open_ == [ENDS[keyword]]:
                add(body, statement, begun, place)
                body, begun = None, place + 1
            follow(open_, keyword)
        if body is None:
            add(rest, statement, begun)
        else:
            add(body, statement, begun)
    return rest, functions


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
    words = [w for one in body if one.first in ("local", "declare", "typeset") for w in one.words[1:]]
    return {told[0] if (told := assignment(word)) else word.plain for word in words}
