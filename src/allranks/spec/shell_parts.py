"""The pieces of a shell's words: texts, variables with their defaults, and lists in braces."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from allranks.spec.problems import Wrong, shown

BRACED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?])(?:\[([@*])\])?(?:(:?[-+=?])(.*))?", re.DOTALL)
SLICE = re.compile(r"([@*]|[A-Za-z_]\w*\[[@*]\]):\s*([0-9]+)")
"""`${@:3}`: the arguments from the third on; `${LIST[@]:3}`: the items behind the first three."""

RANGE = re.compile(r"(-?[0-9]{1,9})\.\.(-?[0-9]{1,9})(?:\.\.(-?[0-9]{1,9}))?|([A-Za-z])\.\.([A-Za-z])")
MOST_WORDS = 10_000
"""Words that braces in one word may make."""


@dataclass
class Part:
    """A piece of a word. `kind` is `text`, `variable` or `opaque` (a command or a sum that only a shell can do)."""

    kind: str
    text: str
    quoted: bool
    default: str | None = None
    """Of `${NAME:-default}`."""
    all: bool = False
    """`${NAME[@]}` and `$@`: every word of a list."""
    assigns: bool = False
    """`${NAME:=default}`: the variable keeps the default."""
    instead: bool = False
    """`${NAME:+text}`: the text if the variable has a value, else nothing."""
    start: int = 0
    """How many words of a list are left out."""
    empty_counts: bool = True
    """Whether an empty value counts as none: `${NAME:-default}`, and not `${NAME-default}`."""
    joined: bool = False
    """`"$*"`: the words of a list as one."""


def parameter(inner: str, quoted: bool) -> Part:
    """The part that `${…}` is."""
    if slice_ := SLICE.fullmatch(inner):
        name, start = slice_.group(1).partition("[")[0], int(slice_.group(2))
        joined = "*" in slice_.group(1)
        return Part(
            "variable", name, quoted, all=True, start=start - (name in "@*" and start > 0), joined=joined
        )
    match = BRACED.fullmatch(inner)
    if match is None or (match.group(3) or "-").lstrip(":") not in tuple("-=+?"):
        return Part("opaque", f"${{{inner}}}", quoted)
    name, sign = match.group(1), match.group(3) or ""
    return Part(
        "variable",
        name,
        quoted,
        default=None if sign[-1:] == "?" else match.group(4),
        all=bool(match.group(2)) or name in "@*",
        assigns=sign[-1:] == "=",
        instead=sign[-1:] == "+",
        empty_counts=sign[:1] == ":"
        or name.isdigit(),  # an argument that is not given may be kept as an empty one
        joined=match.group(2) == "*" or name == "*",
    )


def is_sign(part: Part, sign: str) -> bool:
    return (part.kind, part.text, part.quoted) == ("text", sign, False)


def without_braces(parts: Sequence[Part]) -> list[list[Part]]:
    """The words that `a{b,c}` and `{01..03}` stand for, each as its parts."""
    for start, part in enumerate(parts):
        if not is_sign(part, "{") or (found := choices(parts, start)) is None:
            continue
        middles, end = found
        inner = [one for middle in middles for one in without_braces(middle)]
        tails = without_braces(parts[end + 1 :])
        if len(inner) * len(tails) > MOST_WORDS:
            raise too_many("".join(one.text for one in parts))
        return [[*parts[:start], *one, *tail] for one, tail in itertools.product(inner, tails)]
    return [list(parts)]


def choices(parts: Sequence[Part], start: int) -> tuple[list[list[Part]], int] | None:
    """The alternatives in the braces that open at `start`, and the place of the last brace; None if they are text."""
    found: list[list[Part]] = [[]]
    depth = 0
    for place in range(start + 1, len(parts)):
        part = parts[place]
        if is_sign(part, "}") and not depth:
            if len(found) > 1:
                return found, place
            texts = ranged("".join(one.text for one in found[0])) if all(map(is_plain, found[0])) else None
            return None if texts is None else ([[Part("text", one, False)] for one in texts], place)
        depth += is_sign(part, "{") - is_sign(part, "}")
        if is_sign(part, ",") and not depth:
            found.append([])
        else:
            found[-1].append(part)
    return None


def is_plain(part: Part) -> bool:
    return part.kind == "text" and not part.quoted


def ranged(text: str) -> list[str] | None:
    """The words of `1..3`, `01..10..2` and `a..c`; None for other text."""
    match = RANGE.fullmatch(text)
    if match is None:
        return None
    first, last, step, letter, other = match.groups()
    begin, end = (ord(letter), ord(other)) if letter else (int(first), int(last))
    by = abs(int(step or 1)) or 1
    if abs(end - begin) // by >= MOST_WORDS:
        raise too_many(f"{{{text}}}")
    numbers = range(begin, end + 1, by) if begin <= end else range(begin, end - 1, -by)
    if letter:
        return [chr(one) for one in numbers]
    has_zeros = any(re.match(r"-?0[0-9]", one) for one in (first, last))
    width = max(len(first), len(last)) if has_zeros else 0
    return [f"{one:0{width}d}" for one in numbers]


def too_many(text: str) -> Wrong:
    return Wrong(
        f"{shown(text)} makes more than {MOST_WORDS:,} words.",
        "a command holds fewer.",
        "quotes around it if the text is meant",
    )


def never_closed(line: int) -> Wrong:
    place = f" that opens in line {line}" if line > 1 else ""
    return Wrong(
        f"a quote or a bracket{place} is never closed.",
        "it is split as a shell would, without running one.",
        'a list: ["train.py", "--name", "it\'s"]',
    )
