"""A YAML text as a tree. Every part of it knows the file and the line that it came from.

Scalars are read by the core schema of YAML 1.2.2 (section 10.3.2): `1e-5` is a number, `no`, `on` and
`yes` are strings, `0o17` is 15, `007` is 7, `24:00:00` is a string. The text as written is kept beside
the value, so that a name such as `0123` or a version such as `1.10` survives if a string is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from allranks.spec.problems import Wrong

INTEGER = re.compile(r"[-+]?[0-9]+")
OCTAL = re.compile(r"0o[0-7]+")
HEXADECIMAL = re.compile(r"0x[0-9a-fA-F]+")
FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
INFINITY = re.compile(r"[-+]?\.(?:inf|Inf|INF)")
WORDS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
MAX_DIGITS = 100
"""Longer than any number that a run needs, short enough that reading it costs nothing."""


@dataclass(slots=True, eq=False, repr=False)
class Scalar:
    """`raw` is the text as written, without its quotes. `plain` is True if it had no quotes."""

    file: str
    line: int | None
    raw: str
    value: Any
    plain: bool = True
    size: int = 1
    depth: int = 1


@dataclass(slots=True, eq=False, repr=False)
class Sequence:
    file: str
    line: int | None
    items: list[Tree] = field(default_factory=list)
    size: int = 1
    depth: int = 1


@dataclass(slots=True, eq=False, repr=False)
class Entry:
    """One key of a table: its file and line, and its value."""

    file: str
    line: int | None
    node: Tree


@dataclass(slots=True, eq=False, repr=False)
class Table:
    file: str
    line: int | None
    entries: dict[str, Entry] = field(default_factory=dict)
    size: int = 1
    depth: int = 1

    def get(self, key: str) -> Tree | None:
        """The value of a key; None if it is not there or has no value."""
        entry = self.entries.get(key)
        if entry is None or (isinstance(entry.node, Scalar) and entry.node.value is None):
            return None
        return entry.node


Tree = Scalar | Sequence | Table


def scalar_value(raw: str) -> Any:
    """The value of an unquoted scalar by YAML 1.2's core schema."""
    if raw in WORDS:
        return WORDS[raw]
    if not (raw[0].isdigit() or raw[0] in "+-."):
        return raw
    if len(raw) > MAX_DIGITS and (INTEGER.fullmatch(raw) or FLOAT.fullmatch(raw)):
        raise Wrong(f"a number of {len(raw):,} characters.", do=f"a number of at most {MAX_DIGITS}")
    if INTEGER.fullmatch(raw):
        return int(raw)
    if OCTAL.fullmatch(raw):
        return int(raw[2:], 8)
    if HEXADECIMAL.fullmatch(raw):
        return int(raw[2:], 16)
    if FLOAT.fullmatch(raw):
        return float(raw)
    if INFINITY.fullmatch(raw):
        return float("-inf") if raw[0] == "-" else float("inf")
    return raw


def plain(tree: Tree) -> Any:
    """The tree as dicts, lists and scalars."""
    if isinstance(tree, Table):
        return {key: plain(entry.node) for key, entry in tree.entries.items()}
    if isinstance(tree, Sequence):
        return [plain(item) for item in tree.items]
    return tree.value


def walk(tree: Tree, path: str = "") -> Iterator[tuple[str, str, int | None, Tree]]:
    """Every key and list item below `tree` as (dotted path, file, line, value)."""
    if isinstance(tree, Table):
        for key, entry in tree.entries.items():
            below = f"{path}.{key}" if path else key
            yield below, entry.file, entry.line, entry.node
            yield from walk(entry.node, below)
    elif isinstance(tree, Sequence):
        for number, item in enumerate(tree.items):
            below = f"{path}.{number}"
            yield below, item.file, item.line, item
            yield from walk(item, below)
