"""What goes along while a run file is read, and the readers of single values.

A reader takes (tree, key, reading) and returns the value, or raises Wrong. `Reading.value` catches that
and writes the problem down with its key, file and line, so that reading goes on to the next key.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from allranks.core import NOTE, BadInput, Finding, Where
from allranks.spec import validate
from allranks.spec.problems import MAX_SHOWN_PATH, Problems, Wrong, nearest, shown
from allranks.spec.tree import Scalar, Sequence, Table, Tree

Reader = Callable[[Tree, str, "Reading"], Any]

MISSING: Any = object()
"""What a key has that is absent or could not be read."""


class Reading:
    """One run file being read: its label in messages, the folder of relative paths, what was found wrong."""

    def __init__(self, file: str | None, problems: Problems):
        self.file = file
        self.label = file or "run file"
        self.folder = str(Path(file).parent) if file else ""
        self.problems = problems
        self.notes: list[Finding] = []

    def wrong(self, at: Any, saw: str, why: str = "", do: str = "") -> None:
        """A problem at the place of a tree or an entry."""
        self.problems.add(saw, why, do, at.file, at.line)

    def refuse(self, at: Any, key: str, wrong: Wrong) -> None:
        self.wrong(at, f"{key}: {wrong.saw}", wrong.why, wrong.do)

    def value(self, tree: Tree | None, key: str, reader: Reader) -> Any:
        if tree is None:
            return MISSING
        try:
            return reader(tree, key, self)
        except Wrong as wrong:
            self.refuse(tree, key, wrong)
            return MISSING

    def adopt(self, error: BadInput, at: Any, key: str) -> None:
        """The problems of another file that `key` names; one without a line is said where the file is named."""
        for problem in error.problems:
            if problem.line is None:
                name = "" if problem.file is None else f"{shown(problem.file, MAX_SHOWN_PATH)}: "
                self.wrong(at, f"{key}: {name}{problem.saw}", problem.why, problem.do)
            else:
                self.problems.add(problem.saw, problem.why, problem.do, problem.file, problem.line)

    def note(self, id: str, at: Any, saw: str, why: str, fix: str) -> None:
        where = Where(file=at.file, line=at.line)
        self.notes.append(Finding(id=id, verdict=NOTE, where=where, saw=saw, why=why, fix=fix))

    def path(self, text: str) -> str:
        """A path as the run file means it: `~` is kept for the node, a relative one begins at its folder."""
        if text.startswith(("/", "~")):
            return text
        return os.path.normpath(Path(self.folder) / text)

    def unknown_keys(
        self, table: Table, prefix: str, known: Iterable[str], hint: Callable[[str], str] | None = None
    ):
        """Every key of `table` that is none of `known`, with the nearest right name."""
        known = list(known)
        for key, entry in table.entries.items():
            if key in known:
                continue
            if self.problems.full:
                self.problems.add("")
                continue
            do = (hint(key) if hint else "") or nearest(key, known) or "one of " + ", ".join(known)
            self.wrong(
                entry,
                f"{prefix}{shown(key)}: no such key.",
                "it would be ignored, and the run would not be the one that was meant.",
                do,
            )


def described(tree: Tree) -> str:
    if isinstance(tree, Table):
        return "a mapping"
    if isinstance(tree, Sequence):
        return "a list"
    return "nothing" if tree.value is None else shown(tree.raw)


def scalar(tree: Tree, wanted: str) -> Scalar:
    if not isinstance(tree, Scalar):
        raise Wrong(f"{described(tree)} stands here.", do=wanted)
    if tree.value is None:
        raise Wrong("it has no value.", do=wanted)
    return tree


def mapping(tree: Tree, wanted: str) -> Table:
    if not isinstance(tree, Table):
        raise Wrong(f"{described(tree)} is no mapping.", do=wanted)
    return tree


def text(check: Callable[[str], Any], wanted: str = "one value") -> Reader:
    """A scalar as written, through one of `validate`'s functions."""

    def read(tree: Tree, key: str, reading: Reading) -> Any:
        return check(scalar(tree, wanted).raw)

    return read


def choice(options: Iterable[str]) -> Reader:
    options = tuple(options)

    def read(tree: Tree, key: str, reading: Reading) -> str:
        raw = scalar(tree, "one of " + ", ".join(options)).raw
        if raw not in options:
            near = nearest(raw, options)
            raise Wrong(f"{shown(raw)} is none of {', '.join(options)}.", do=near or options[0])
        return raw

    return read


def integer(low: int, high: int, what: str, example: int, why: str = "") -> Reader:
    def read(tree: Tree, key: str, reading: Reading) -> int:
        node = scalar(tree, f"{what}, {low} to {high:,}")
        value = node.value
        if type(value) is str and not node.plain and value.isascii() and value.isdigit() and len(value) < 20:
            value = int(value)  # "8" in quotes: what was meant is plain
        if type(value) is not int or not low <= value <= high:
            raise Wrong(
                f"{shown(node.raw)} is no {what}.",
                why or f"it is a whole number from {low} to {high:,}.",
                f"such as {example}",
            )
        return value

    return read


def boolean(tree: Tree, key: str, reading: Reading) -> bool:
    node = scalar(tree, "true or false")
    if type(node.value) is not bool:
        raise Wrong(
            f"{shown(node.raw)} is neither true nor false.",
            "YAML 1.2 knows these two words alone; yes, no, on and off are strings.",
            "true or false",
        )
    return node.value


def size(tree: Tree, key: str, reading: Reading) -> int:
    return validate.size(scalar(tree, "such as 16GiB").raw)


def own_path(tree: Tree, key: str, reading: Reading) -> str:
    """A path on this machine, relative to the run file."""
    return reading.path(validate.path(scalar(tree, "a path").raw))


def program_path(tree: Tree, key: str, reading: Reading) -> str:
    """As `own_path`, but a bare name such as `python3` is looked for on the node's PATH."""
    raw = validate.path(scalar(tree, "a path").raw)
    return reading.path(raw) if "/" in raw else raw


def listed(reader: Reader, example: str) -> Reader:
    """A list, each item through `reader`; items that cannot be used are all reported."""

    def read(tree: Tree, key: str, reading: Reading) -> tuple[Any, ...]:
        if not isinstance(tree, Sequence):
            raise Wrong(f"{described(tree)} is no list.", do=example)
        values = [reading.value(item, key, reader) for item in tree.items]
        return tuple(value for value in values if value is not MISSING)

    return read


def words(tree: Tree, key: str, reading: Reading) -> tuple[str, ...]:
    """A command's words: a list of them, or one string that is split as a shell would."""
    import shlex

    if isinstance(tree, Sequence):
        return listed(text(word, "a word; quotes around what YAML would read otherwise"), "[a, b]")(
            tree, key, reading
        )
    raw = scalar(tree, "a list of words, or one string").raw
    try:
        return tuple(shlex.split(raw))
    except ValueError as error:
        raise Wrong(
            f"{shown(raw)} cannot be split: {str(error).lower()}.",
            "it is split as a shell would, without running one.",
            'a list: ["train.py", "--name", "it\'s"]',
        ) from None


def word(raw: str) -> str:
    if len(raw.encode("utf-8")) > validate.MAX_VALUE:
        raise Wrong(
            f"a word of {len(raw):,} characters.",
            "Linux passes at most 128 KiB.",
            "a file, and its path here",
        )
    return raw
