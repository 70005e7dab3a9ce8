"""The expressions of all rooms but `diagnose`, read from their sources, with the way in which each is used.

Those that are made from values of a run (a name, a rank, what the user typed) are not among them.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import allranks

SOURCES = Path(allranks.__file__).parent
CALLS = ("compile", "search", "match", "fullmatch", "sub", "split", "findall", "finditer")
FLAGS_AT = {"compile": 1, "search": 2, "match": 2, "fullmatch": 2, "findall": 2, "finditer": 2}

NEVER_SO = {
    r"\[([^\]]*)\]": "names.one: `split_outside_brackets` has refused nested and open brackets by then",
}
"""Expressions whose worst lines are refused before, and why."""


class Found(NamedTuple):
    place: str
    """`node/spawn.py:219`."""

    expression: re.Pattern
    way: str
    """`match` or `fullmatch` if it is used in no other way, else `search`."""


def patterns() -> Iterator[Found]:
    for path in sorted(SOURCES.rglob("*.py")):
        if "diagnose" not in path.relative_to(SOURCES).parts:
            yield from patterns_of(path)


def patterns_of(path: Path) -> Iterator[Found]:
    tree = ast.parse(source(path))
    named = {
        one.value: one.targets[0].id
        for one in ast.walk(tree)
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    for call in ast.walk(tree):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) in {f"re.{name}" for name in CALLS}):
            continue
        name = ast.unparse(call.func)[3:]
        flags = [word.value for word in call.keywords if word.arg == "flags"]
        flags += call.args[FLAGS_AT.get(name, 9) :]
        try:
            wanted = value_of(call.args[0], path)
            expression = re.compile(
                wanted.decode("latin-1") if isinstance(wanted, bytes) else wanted,
                value_of(flags[0], path) if flags else 0,
            )
        except (NameError, TypeError):  # it is made from the values of a call
            continue
        way = ways_of(named.get(call, ""), path) if name == "compile" else name
        if expression.pattern not in NEVER_SO:
            way = way if way in ("match", "fullmatch") else "search"
            yield Found(f"{path.relative_to(SOURCES)}:{call.lineno}", expression, way)


def value_of(node: ast.expr, path: Path) -> Any:
    """What stands there; its module is imported only if it names a constant of it. Raises NameError for a local one."""
    code = compile(ast.Expression(node), "source", "eval")
    try:
        return eval(code, {"re": re})
    except NameError:
        words = path.relative_to(SOURCES).with_suffix("").parts
        words = words[:-1] if words[-1] == "__init__" else words
        return eval(code, dict(vars(importlib.import_module(".".join(("allranks", *words))))))


def ways_of(name: str, path: Path) -> str:
    """How an expression with a name is used, in its own file and in those that name both."""
    used: set[str] = set()
    for other in SOURCES.rglob("*.py"):
        text = source(other)
        if name and name in text and (other == path or re.search(rf"\b{path.stem}\b", text)):
            used |= set(re.findall(rf"\b{name}\.({'|'.join(CALLS[1:])})\b", text))
    return used.pop() if len(used) == 1 else "match" if used == {"match", "fullmatch"} else "search"


@cache
def source(path: Path) -> str:
    return path.read_text()
