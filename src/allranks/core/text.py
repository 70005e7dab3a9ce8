"""Text for people and for terminals: hostile text made safe, names folded into ranges, words counted.

Standard library alone, Python 3.8 and up.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, Iterable, Iterator, Optional, Tuple

NUMBERS = re.compile(r"([0-9]+)")
FOLDED_DIGITS = 18
"""Longer numbers in a name are serials; they stay text."""


def spelt_out(text: str) -> str:
    """The text with everything unseen spelt out (`\\x1b`, `\\u202e`); line ends and tabs are kept.

    Unseen are control and escape codes, zero-width and direction-changing characters, lone surrogates and unassigned
    code points: all of them could move a cursor, recolour a terminal, or mislead a reader.
    """
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or _seen(c) else _spelt(c) for c in text)


def printable(text: Any, most: int = 160) -> str:
    """Anything as one line of at most `most` characters: names in a file are data, never terminal codes."""
    text = str(text)
    line = "".join(c if _seen(c) else _spelt(c) for c in text[:most])
    return line + "…" if len(text) > most else line


def _seen(character: str) -> bool:
    return character.isprintable() or unicodedata.category(character) == "Zs"


def _spelt(character: str) -> str:
    return character.encode("unicode_escape").decode()


def last_line(text: str, nothing: str = "") -> str:
    """The last line that is not empty or a ruler, cut to 300 characters; `nothing` if there is none."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" -\t")]
    return lines[-1][:300] if lines else nothing


def plural(amount: int, one: str, many: Optional[str] = None) -> str:
    """`3 nodes`, `1 node`."""
    return f"{amount:,} {one if amount == 1 else many or one + 's'}"


def spans(numbers: Iterable[int]) -> str:
    """`0-3,7` for 0, 1, 2, 3, 7."""
    return ",".join(runs([str(number) for number in sorted(set(numbers))]))


def fold(names: Iterable[str], keep_order: bool = False) -> str:
    """The short form of many names: `node1, node2, node3` → `node[1-3]`.

    Sorted by the numbers in the names and without repetitions, so that `set(expand(fold(x))) == set(x)`.
    With `keep_order` only neighbours are folded, and `expand(fold(x, keep_order=True)) == list(x)`.
    """
    if keep_order:
        return ",".join(neighbours(list(names)))
    groups: dict[tuple[str, ...], list[list[str]]] = {}
    alone = []
    for name in sorted(set(names), key=natural):
        texts, numbers = parts(name)
        if numbers:
            groups.setdefault(texts, []).append(numbers)
        else:
            alone.append(name)
    folded = [(natural(name), name) for name in alone]
    for texts, rows in groups.items():
        folded += [(natural(text), text) for text in fold_group(texts, rows)]
    return ",".join(text for _, text in sorted(folded))


def parts(name: str) -> tuple[tuple[str, ...], list[str]]:
    """The texts and the numbers of a name. A name with brackets or a comma of its own stays whole."""
    if any(letter in name for letter in "[],"):
        return (name,), []
    pieces = NUMBERS.split(name)
    for i in range(len(pieces) - 2, 0, -2):
        if len(pieces[i]) > FOLDED_DIGITS:
            pieces[i - 1 : i + 2] = ["".join(pieces[i - 1 : i + 2])]
    return tuple(pieces[0::2]), pieces[1::2]


def natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """A key that sorts node2 before node10, and names with equal numbers by their text."""
    return tuple(
        (
            piece[:1].isdigit(),
            int(piece) if piece.isascii() and piece.isdigit() and len(piece) < 40 else 0,
            piece,
        )
        for piece in NUMBERS.split(name)
    )


Axis = Tuple[str, ...]


def fold_group(texts: tuple[str, ...], rows: list[list[str]]) -> list[str]:
    """Names of one shape as products of ranges: two that differ in one bracket alone become one."""
    found: list[list[Axis]] = [[(number,) for number in row] for row in rows]
    for place in range(len(texts) - 2, -1, -1):
        merged: dict[tuple[Axis, ...], list[Axis]] = {}
        for row in found:
            others = tuple(axis for i, axis in enumerate(row) if i != place)
            if others in merged:
                merged[others][place] = merged[others][place] + row[place]
            else:
                merged[others] = list(row)
        found = list(merged.values())
    return [texts[0] + "".join(bracket(a) + text for a, text in zip(row, texts[1:])) for row in found]


def bracket(numbers: Axis) -> str:
    """`("1", "2", "3", "07")` → `[1-3,07]`; one number stands without brackets."""
    if len(numbers) == 1:
        return numbers[0]
    padded = sorted({len(n) for n in numbers if n[0] == "0" and len(n) > 1})

    def place(number: str) -> tuple[int, int]:
        """Numbers of one written width together: 10 follows 09 where there is a 09, and 9 where there is none."""
        return max((width for width in padded if width <= len(number)), default=0), int(number)

    return "[" + ",".join(runs(sorted(numbers, key=place))) + "]"


def runs(numbers: list[str]) -> Iterator[str]:
    """Ranges of numbers that follow each other and that `axis` would write in the same width."""
    if not numbers:
        return
    start = last = numbers[0]
    for number in numbers[1:]:
        if int(number) == int(last) + 1 and str(int(number)).zfill(len(start)) == number:
            last = number
            continue
        yield start if start == last else f"{start}-{last}"
        start = last = number
    yield start if start == last else f"{start}-{last}"


def neighbours(names: list[str]) -> Iterator[str]:
    """Each run of names that differ in their last number alone, and count up, as one range."""
    group: list[str] = []
    shape: object = None
    for name in names:
        texts, numbers = parts(name)
        here = (texts, tuple(numbers[:-1])) if numbers else None
        if group and (here is None or here != shape):
            yield written(group)
            group = []
        shape = here
        group.append(name)
        if here is None:
            yield written(group)
            group = []
    if group:
        yield written(group)


def written(group: list[str]) -> str:
    if len(group) == 1:
        return group[0]
    texts, numbers = parts(group[0])
    last = [parts(name)[1][-1] for name in group]
    before = "".join(text + number for text, number in zip(texts, numbers[:-1]))
    return f"{before}{texts[-2]}[{','.join(runs(last))}]{texts[-1]}"
