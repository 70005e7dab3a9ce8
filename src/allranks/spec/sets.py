"""`--set key.key=value`: one key of the run file changed from the command line."""

from __future__ import annotations

import copy
import re

from allranks.core import BadInput
from allranks.spec import train as training
from allranks.spec.problems import Wrong, shown
from allranks.spec.reading import Reading
from allranks.spec.tree import Entry, Scalar, Sequence, Table, Tree
from allranks.spec.yaml12 import MAX_DEPTH, parse


def apply_sets(tree: Table, sets: list[str], reading: Reading) -> None:
    for text in sets:
        key, equals, value = text.partition("=")
        label = f"--set {shown(key)}"
        if not equals or not re.fullmatch(r"[^.\s]+(\.[^.\s]+)*", key):
            reading.problems.add("no key=value.", "", "--set train.llamafactory.max_steps=50", label)
            continue
        try:
            node = parse(value, label, reading.problems, fixed_place=True) or Scalar(label, None, "", None)
        except BadInput as error:
            reading.problems.found += error.problems
            continue
        parts = key.split(".")
        if len(parts) > MAX_DEPTH:
            reading.problems.add(
                f"{len(parts):,} levels.", "no key is that deep.", "a key of the run file", label
            )
            continue
        if parts[:2] == ["train", "llamafactory"] and len(parts) > 2:
            before = len(reading.problems.found)
            training.splice(tree.get("train"), reading)
            if len(reading.problems.found) > before:
                continue  # the file cannot be read, which is said; what would be set in it is not
        try:
            put(tree, parts, node, label)
        except Wrong as wrong:
            reading.problems.add(wrong.saw, wrong.why, wrong.do, label)


def put(tree: Table, parts: list[str], value: Tree, label: str) -> None:
    """Sets one key. The tables above it are copied, since an alias may show them elsewhere too."""
    at: Tree = tree
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        above = ".".join(parts[:number])
        if isinstance(at, Table):
            entry = at.entries.get(part)
            found = None if entry is None else entry.node
            if found is None or (isinstance(found, Scalar) and found.value is None):
                found = Table(label, None)
            below = value if last else copied(found)
            place = entry if entry is not None and not last else Entry(label, None, below)
            at.entries[part] = Entry(place.file, place.line, below)
        elif isinstance(at, Sequence):
            if not (part.isascii() and part.isdigit() and len(part) < 9 and int(part) < len(at.items)):
                raise Wrong(f"{above} has {len(at.items):,} items, counted from 0.", do=f"{above}.0")
            below = value if last else copied(at.items[int(part)])
            at.items[int(part)] = below
        else:
            raise Wrong(f"{shown(above)} is {shown(at.raw)} and holds no keys.", do=f"--set {shown(above)}=…")
        at = below


def copied(tree: Tree) -> Tree:
    new = copy.copy(tree)
    if isinstance(new, Table):
        new.entries = dict(new.entries)
    elif isinstance(new, Sequence):
        new.items = list(new.items)
    return new
