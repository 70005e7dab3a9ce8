"""Node ranges: `node[1-3,7]` to names and back, in the syntax of SLURM's node lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import product
from math import prod

from allranks.core.text import FOLDED_DIGITS, bracket
from allranks.spec.problems import Wrong, refused, shown

MAX_NAMES = 16_384
"""More is a mistyped range: the largest published training runs have about that many nodes."""

MAX_TEXT = 1 << 18

ITEM = re.compile(r"([0-9]+)(?:-([0-9]+))?")


def expand(text: str) -> list[str]:
    """`a[01-03]b[1-2],c` → `a01b1, a01b2, a02b1, …, c`. Raises BadInput.

    The order is that of `scontrol show hostnames` (checked against SLURM 22.05): with two brackets the last
    one varies fastest; with three or more the last varies fastest, then the first, the second and so on.
    Unlike SLURM, text may follow the last bracket (`node[1-2]-ib`).
    """
    try:
        return expanded(text)
    except Wrong as wrong:
        raise refused(wrong.saw, wrong.why, wrong.do) from None


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
            raise Wrong(f"{shown(text)} has one bracket too many.", do="a range such as node[1-3,7]")
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
    if prod(map(len, axes)) > MAX_NAMES:
        raise too_many(part)
    order = [*range(len(axes) - 2, -1, -1), len(axes) - 1]  # from the slowest to the fastest, as in SLURM
    names = []
    for chosen in product(*(axes[i] for i in order)):
        numbers = dict(zip(order, chosen, strict=True))
        names.append("".join(p if i % 2 == 0 else numbers[i // 2] for i, p in enumerate(pieces)))
    return names


def axis(inside: str, part: str) -> list[str]:
    """The numbers of one bracket as text; the width of a range's first number is kept."""
    numbers: list[str] = []
    for item in inside.split(","):
        match = ITEM.fullmatch(item.strip())
        if match is None or len(item) > 40:
            raise Wrong(
                f"{shown(part)}: [{shown(inside)}] is not a range.",
                "brackets hold numbers, a-b and commas.",
                "a range such as node[1-3,7]",
            )
        low, high = match[1], match[2] or match[1]
        if int(high) < int(low):
            raise Wrong(f"{shown(part)}: {low}-{high} counts down.", do=f"[{high}-{low}]")
        if int(high) - int(low) >= MAX_NAMES - len(numbers):
            raise too_many(part)
        numbers += [str(n).zfill(len(low)) for n in range(int(low), int(high) + 1)]
    return numbers


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
