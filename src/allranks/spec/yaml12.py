"""YAML text → tree, with the line of every key and value. Everything hostile is refused within a bound.

PyYAML reads the tokens (libyaml where it was built in); what they mean is decided here, from its events,
since PyYAML's own constructors follow YAML 1.1 and keep neither lines nor a second value of a key. See
docs/decisions/yaml.md.
"""

from __future__ import annotations

from typing import Any

from allranks.core import BadInput, Problem
from allranks.spec.problems import Problems, Wrong, shown
from allranks.spec.tree import Entry, Scalar, Sequence, Table, Tree, scalar_value

MAX_DEPTH = 32
MAX_PARTS = 100_000
"""Keys and values with every alias written out: 16,384 nodes of three keys each, and room for the rest."""

TAGS = {f"tag:yaml.org,2002:{name}": name for name in ("str", "int", "float", "bool", "null", "map", "seq")}

EXPLAINED = (
    ("tab", "there is a tab where YAML wants spaces.", "indent with spaces"),
    ("\\t", "there is a tab where YAML wants spaces.", "indent with spaces"),
    (
        "mapping values are not allowed",
        "a second `: ` is in this line, or the indentation of this line does not match.",
        'quotes around a value that holds `: `, as in "a: b"; equal indentation for keys that belong together',
    ),
    (
        "',' or ']'",
        "a list in [ ] is not closed, or an item holds a bracket without quotes.",
        'quotes around node ranges inside [ ] and { }, as in ["node[1-2]"]',
    ),
    (
        "',' or '}'",
        "a mapping in { } is not closed, or a value holds a bracket or comma without quotes.",
        'quotes around node ranges inside [ ] and { }, as in {name: "node[1-2]"}',
    ),
    (
        "cannot start any token",
        "@, ` and % cannot begin a value without quotes.",
        "quotes around the value",
    ),
    ("unexpected end of stream", "a quote is opened and never closed.", "close the quote"),
    ("could not find expected ':'", "this key has no `:` after it.", "key: value"),
    (
        "did not find expected key",
        "this line is not indented like its neighbours.",
        "equal indentation",
    ),
    ("expected <block end>", "this line is not indented like its neighbours.", "equal indentation"),
    (
        "unknown escape",
        'in "double quotes" a backslash begins an escape.',
        "'single quotes' around the value",
    ),
    ("escape code", "this escape names no character.", "the character itself, in UTF-8"),
)


def parse(text: str, file: str, problems: Problems, fixed_place: bool = False) -> Tree | None:
    """The tree of `text`, None if it is empty. With `fixed_place` every part has the place `file` without a line, as
    for a value from the command line.

    A key that is given twice is reported to `problems`, and the first one counts. Raises BadInput if the text is not
    valid YAML.
    """
    import yaml

    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput(Problem("a half of a surrogate pair, which is not a character.", file=file)) from None
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        return Composer(yaml, yaml.parse(text, Loader=loader), file, problems, fixed_place).document()
    except yaml.YAMLError as error:
        raise BadInput(explain(error, text, file, fixed_place)) from None


def explain(error: Any, text: str, file: str, fixed_place: bool) -> Problem:
    """PyYAML's error as a Problem that names the user's mistake."""
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error).split("\n")[0]
    line = None if mark is None else min(mark.line, text.count("\n")) + 1
    if mark is None and isinstance(getattr(error, "position", None), int):
        control = next((i for i, c in enumerate(text) if c < " " and c not in "\t\n\r"), 0)
        line = text.count("\n", 0, control) + 1
    line = None if fixed_place else line
    if mark is not None and is_tab(text, mark):
        problem = "found a tab character"
    start = getattr(error, "context_mark", None)
    if "unexpected end" in problem and start is not None and not fixed_place:
        line = start.line + 1  # where the quote was opened, not where the file ends
    for part, why, do in EXPLAINED:
        if part in problem:
            return Problem(f"not YAML: {shown(problem)}.", why, do, file, line)
    return Problem(f"not YAML: {shown(problem)}.", "", "quotes around the value, if it is meant", file, line)


def is_tab(text: str, mark: Any) -> bool:
    """Whether the parser stopped at a tab (libyaml does not say which character it met)."""
    lines = text.split("\n")
    return mark.line < len(lines) and lines[mark.line][mark.column : mark.column + 1] == "\t"


class Composer:
    """Builds the tree from the parser's events and stops at the first thing that is out of bounds."""

    def __init__(self, yaml: Any, events: Any, file: str, problems: Problems, fixed_place: bool):
        self.yaml, self.events, self.file, self.problems = yaml, events, file, problems
        self.fixed_place = fixed_place
        self.anchors: dict[str, Tree | None] = {}
        self.parts = 0

    def line(self, event: Any) -> int | None:
        return None if self.fixed_place else event.start_mark.line + 1

    def stop(self, event: Any, saw: str, why: str, do: str) -> BadInput:
        return BadInput(Problem(saw, why, do, self.file, self.line(event)))

    def document(self) -> Tree | None:
        tree = None
        documents = 0
        for event in self.events:
            if isinstance(event, self.yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.stop(
                        event, "a second document begins here.", "one would be lost.", "one file each"
                    )
            elif isinstance(event, self.yaml.NodeEvent):
                tree = self.node(event, 1)
        return tree

    def node(self, event: Any, depth: int) -> Tree:
        self.parts += 1
        if depth > MAX_DEPTH:
            raise self.too_deep(event)
        if isinstance(event, self.yaml.AliasEvent):
            return self.alias(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = None  # not usable inside itself
        if isinstance(event, self.yaml.ScalarEvent):
            tree: Tree = self.scalar(event)
        elif isinstance(event, self.yaml.SequenceStartEvent):
            tree = self.sequence(event, depth)
        else:
            tree = self.table(event, depth)
        if event.anchor:
            self.anchors[event.anchor] = tree
        return tree

    def too_deep(self, event: Any) -> BadInput:
        return self.stop(
            event,
            f"more than {MAX_DEPTH} levels inside each other.",
            "no run file is that deep.",
            "fewer levels",
        )

    def alias(self, event: Any, depth: int) -> Tree:
        tree = self.anchors.get(event.anchor)
        if tree is None:
            inside = event.anchor in self.anchors
            why = "it would contain itself." if inside else "there is no &anchor of that name above it."
            raise self.stop(
                event, f"*{shown(event.anchor)} names nothing.", why, "the name of an anchor above"
            )
        self.parts += tree.size
        if self.parts > MAX_PARTS:
            raise self.too_many(event)
        if depth + tree.depth - 1 > MAX_DEPTH:
            raise self.too_deep(event)
        return tree

    def too_many(self, event: Any) -> BadInput:
        return self.stop(
            event,
            f"more than {MAX_PARTS:,} keys and values, aliases written out.",
            "this is data or an alias bomb, not a run file.",
            "fewer aliases; node ranges such as node[1-512] for many nodes",
        )

    def scalar(self, event: Any) -> Scalar:
        line = self.line(event)
        tag = TAGS.get(event.tag or "", event.tag)
        if tag not in (None, "!", *TAGS.values()) or tag in ("map", "seq"):
            raise self.stop(
                event,
                f"the tag {shown(event.tag)}.",
                "a run file holds plain values alone.",
                "the value without it",
            )
        raw = event.value
        if "\0" in raw or any("\ud800" <= c <= "\udfff" for c in raw):
            raise self.stop(
                event, "a NUL or half a surrogate pair.", "no program takes it.", "the value without it"
            )
        plain = bool(event.implicit[0]) if tag is None else tag not in ("str", "!")
        try:
            value = scalar_value(raw) if plain else raw
        except Wrong as wrong:
            raise self.stop(event, wrong.saw, wrong.why, wrong.do) from None
        if tag not in (None, "!", "str") and KINDS[tag] is not type(value):
            raise self.stop(
                event,
                f"{shown(raw)} is not of the type {tag}.",
                "its tag says so.",
                "the value without the tag",
            )
        return Scalar(self.file, line, raw, value, plain)

    def sequence(self, event: Any, depth: int) -> Sequence:
        tree = Sequence(self.file, self.line(event))
        for inner in self.events:
            if isinstance(inner, self.yaml.SequenceEndEvent):
                break
            self.grow(tree, self.node(inner, depth + 1), inner)
        return tree

    def grow(self, tree: Sequence | Table, child: Tree, event: Any) -> None:
        if isinstance(tree, Sequence):
            tree.items.append(child)
        tree.size += child.size
        tree.depth = max(tree.depth, child.depth + 1)
        if self.parts > MAX_PARTS or tree.size > MAX_PARTS:
            raise self.too_many(event)

    def table(self, event: Any, depth: int) -> Table:
        tree = Table(self.file, self.line(event))
        merged: list[Table] = []
        for inner in self.events:
            if isinstance(inner, self.yaml.MappingEndEvent):
                break
            key = self.key(inner, depth)
            child = self.node(next(self.events), depth + 1)
            self.grow(tree, child, inner)
            if key.plain and key.raw == "<<":
                merged += self.mergeable(child, inner)
            elif key.raw in tree.entries:
                first = tree.entries[key.raw].line
                self.problems.add(
                    f"{shown(key.raw)}: given twice" + (f", first in line {first}." if first else "."),
                    "one of the two values would be lost.",
                    "keep one of them",
                    self.file,
                    key.line,
                )
            else:
                tree.entries[key.raw] = Entry(self.file, key.line, child)
        for other in merged:
            for name, entry in other.entries.items():
                tree.entries.setdefault(name, entry)
        return tree

    def key(self, event: Any, depth: int) -> Scalar:
        key = self.node(event, depth + 1)
        if not isinstance(key, Scalar):
            raise self.stop(
                event, "a list or a mapping is used as a key.", "keys are names.", "quotes around the key"
            )
        if not key.raw:
            raise self.stop(
                event, "a key without a name.", "its value would belong to nothing.", "name: value"
            )
        return key

    def mergeable(self, child: Tree, event: Any) -> list[Table]:
        """The tables that a merge key (`<<: *base`) brings in; the first that has a key wins."""
        tables = child.items if isinstance(child, Sequence) else [child]
        found = [table for table in tables if isinstance(table, Table)]
        if len(found) != len(tables):
            raise self.stop(
                event, "<<: the merged value is not a mapping.", "it has no keys.", "<<: *name_of_a_mapping"
            )
        return found


KINDS = {"int": int, "float": float, "bool": bool, "null": type(None), "str": str}
