"""Node ranges: `node[1-3,7]` to names and back, in the syntax of SLURM's node lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product

from allranks.core import BadInput, Problem
from allranks.spec.problems import Wrong, shown

MAX_NAMES = 16_384
"""More is a mistyped range: the largest published training runs have about that many nodes."""

MAX_TEXT = 1 << 18

ITEM = re.compile(r"([0-9]+)(?:-([0-9]+))?")
NUMBERS = re.compile(r"([0-9]+)")
FOLDED_DIGITS = 18
"""Longer numbers in a name are serials; they stay text."""


def expand(text: str) -> list[str]:
    """`a[01-03]b[1-2],c` → `a01b1, a01b2, a02b1, …, c`. Raises BadInput.

    The order is that of `scontrol show hostnames` (checked against SLURM 22.05): with two brackets the last
    one varies fastest; with three or more the last varies fastest, then the first, the second and so on.
    Unlike SLURM, text may follow the last bracket (`node[1-2]-ib`).
    """
    try:
        return expanded(text)
    except Wrong as wrong:
        raise BadInput(Problem(wrong.saw, wrong.why, wrong.do)) from None


def expanded(text: str) -> list[str]:
    """`expand`, raising Wrong, for callers that know the line."""
    if len(text) > MAX_TEXT:
        raise Wrong(f"node names of {len(text):,} characters.", do="a hostfile")
    names: list[str] = []
    for part in split_outside_brackets(text):
        names += one(part, text)
        if len(names) > MAX_NAMES:
            raise too_many(text)
    return names


def too_many(text: str) -> Wrong:
    return Wrong(f"{shown(text)} means more than {MAX_NAMES:,} nodes.", do="a range such as node[1-512]")


def split_outside_brackets(text: str) -> Iterator[str]:
    start = depth = 0
    for place, letter in enumerate(text):
        if letter == "[":
            depth += 1
        elif letter == "]":
            depth -= 1
        if depth not in (0, 1):
            raise Wrong(f"{shown(text)} has a bracket too many.", do="a range such as node[1-3,7]")
        if letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    if depth:
        raise Wrong(f"{shown(text)} has a bracket that is not closed.", do="a range such as node[1-3,7]")
    yield text[start:].strip()


def one(part: str, text: str) -> list[str]:
    """The names of one comma-free part. `part` alternates text and brackets."""
    if not part:
        raise Wrong(f"{shown(text)} holds an empty name.", do="names with one comma between them")
    pieces = re.split(r"\[([^\]]*)\]", part)
    if len(pieces) == 1:
        return [part]
    axes = [axis(inside, part) for inside in pieces[1::2]]
    total = 1
    for numbers in axes:
        total *= len(numbers)
    if total > MAX_NAMES:
        raise too_many(part)
    order = slurm_order(len(axes))
    names = []
    for chosen in product(*(axes[i] for i in order)):
        numbers = dict(zip(order, chosen, strict=True))
        names.append("".join(p if i % 2 == 0 else numbers[i // 2] for i, p in enumerate(pieces)))
    return names


def slurm_order(count: int) -> list[int]:
    """The brackets from the slowest to the fastest, as SLURM's hostlist walks them."""
    return [*range(count - 2, -1, -1), count - 1]


def axis(inside: str, part: str) -> list[str]:
    """The numbers of one bracket as text; the width of a range's first number is kept."""
    numbers: list[str] = []
    for item in inside.split(","):
        match = ITEM.fullmatch(item.strip())
        if match is None or len(item) > 40:
            raise Wrong(
                f"{shown(part)}: [{shown(inside)}] is no range.",
                "brackets hold numbers, a-b and commas.",
                "a range such as node[1-3,7]",
            )
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise Wrong(f"{shown(part)}: {low}-{high} runs backwards.", do=f"[{high}-{low}]")
        if int(high) - int(low) >= MAX_NAMES - len(numbers):
            raise too_many(part)
        numbers += [str(n).zfill(len(low)) for n in range(int(low), int(high) + 1)]
    return numbers


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


LAST_NUMBER = re.compile(rf"(.+?)([0-9]{{1,{FOLDED_DIGITS // 2}}})", re.DOTALL)
"""SLURM reads a number at a name's end alone as one; 9 digits fit into its 32 bits."""


def slurm_list(names: Iterable[str]) -> str:
    """A node list that SLURM understands: ranges of a name's last digits alone, each written in its own width.

    SLURM 22.05 reads `a[1-2]b` as no node at all, which `fold` may write; `--nodelist` takes no order from it.
    Without repetitions: `set(expand(slurm_list(x))) == set(x)`, and the same by `scontrol show hostnames`.
    """
    groups: dict[tuple[str, int], list[str]] = {}
    for name in dict.fromkeys(names):
        match = LAST_NUMBER.fullmatch(name)
        width = len(match[2]) if match is not None and match[2][0] == "0" else 0
        groups.setdefault((match[1], width) if match else (name, -1), []).append(match[2] if match else "")
    return ",".join(
        prefix if width < 0 else prefix + bracket(tuple(numbers))
        for (prefix, width), numbers in groups.items()
    )


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


Axis = tuple[str, ...]


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
    return [
        texts[0] + "".join(bracket(a) + text for a, text in zip(row, texts[1:], strict=True)) for row in found
    ]


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
    before = "".join(text + number for text, number in zip(texts, numbers[:-1], strict=False))
    return f"{before}{texts[-2]}[{','.join(runs(last))}]{texts[-1]}"
