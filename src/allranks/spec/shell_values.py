"""Values of a shell's variables. Unknown parts are marked. Arithmetic and cut values (`${NAME%.*}`) are computed."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

Values = Mapping[str, "str | list[str] | None"]
"""Values by the variables' names. An array is a list; None is a value that only the shell would know."""


HERE = "\ue003"
"""A private character that stands for the folder in which a script is started: relative paths change their meaning
with each `cd`, and what `$(pwd)` gave before does not."""

OPEN, CLOSE, BLANK = "\ue000", "\ue001", "\ue002"
"""Private characters: two enclose an unknown part of a value, the third replaces its blanks so that the value is not
split there."""


BLANKS = re.compile(r"\s")


def unresolved(text: str) -> str | None:
    """The first unknown part of a value, as it is written; None if the whole value is known."""
    inside, closed, _ = text.partition(OPEN)[2].partition(CLOSE)
    return inside.replace(BLANK, " ") if closed else None


def all_unresolved(text: str) -> list[str]:
    """All unknown parts of a value, as they are written."""
    found: list[str] = []
    while (inside := unresolved(text)) is not None:
        found.append(inside)
        text = text.partition(OPEN)[2].partition(CLOSE)[2]
    return found


def readable(text: str) -> str:
    """A value with its unknown parts as they are written."""
    return text.replace(OPEN, "").replace(CLOSE, "").replace(BLANK, " ").replace(HERE, ".")


def mark(text: str) -> str:
    return f"{OPEN}{BLANKS.sub(BLANK, text)}{CLOSE}"


NOT_GIVEN = re.compile(rf"{OPEN}\$[1-9][0-9]*{CLOSE}")
"""An argument of the script that is not given. A shell takes it for empty; here it is asked for where it would reach
the ranks, since the script was written for one."""

HOME = mark("~")
"""A `~` without quotes at the beginning of a word: the home of whoever runs the shell."""

PATTERN = re.compile(r"[*?]|\[[!^]?[^][,]{0,40}\w-\w[^][,]{0,40}\]")
"""The signs that make a word match files. A list such as `[1,2]` stays text: it hardly ever matches a file."""


def is_pattern(text: str) -> bool:
    """Whether a shell would look for files that match this word, and may find some. `--lr=[…]` and `http://x?y=1` stay
    text, since no file has such a name."""
    found = PATTERN.search(text)
    before = text[: found.start()] if found else ""
    return found is not None and not any(sign in before for sign in ("=", "://", "$", "`", "{"))


BETWEEN_FIELDS = " \t\n"
"""The characters that separate words if the script sets no IFS."""


def separators(values: Values) -> str | None:
    """The script's IFS; None if only a shell knows it."""
    found = values.get("IFS", BETWEEN_FIELDS)
    if found == [] or (
        isinstance(found, str) and unresolved(found) == "$IFS"
    ):  # `IFS=$OLD`, which kept the first one
        return BETWEEN_FIELDS
    return found if isinstance(found, str) and unresolved(found) is None else None


def has_own_ifs(values: Values) -> bool:
    return separators(values) != BETWEEN_FIELDS


def fields(text: str, values: Values) -> list[str]:
    """The words of a value without quotes, by the script's IFS."""
    signs = separators(values)
    if signs == BETWEEN_FIELDS or unresolved(text) is not None:
        return text.split()
    if signs is None:
        return [text] if re.fullmatch(r"[\w./=-]*", text) else [mark("$IFS")]
    blank = "".join(sign for sign in signs if sign in BETWEEN_FIELDS)
    other = "".join(sign for sign in signs if sign not in BETWEEN_FIELDS)
    blanks = f"[{re.escape(blank)}]" if blank else "(?!)"
    one = f"{blanks}*[{re.escape(other)}]{blanks}*|" if other else ""
    words = re.split(f"{one}{blanks}+", text.strip(blank) if blank else text)
    return words[: len(words) - (words[-1] == "")]


CUT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+)(%%|%|##|#|//|/)(.*)", re.DOTALL)
SUM = re.compile(r"\$\((?:\((.*)\)|\s*expr\s(.*))\)", re.DOTALL)


def computed(text: str, values: Values) -> str | None:
    """`$((A / 8))` and `${NAME%.sh}`, if all that they need is known."""
    if match := SUM.fullmatch(text):
        return summed(match.group(1) or match.group(2), values)
    match = CUT.fullmatch(text.removeprefix("${").removesuffix("}")) if text.startswith("${") else None
    found = values.get(match.group(1)) if match else None
    if match is None or not isinstance(found, str) or unresolved(found) or "$" in match.group(3):
        return None
    sign, pattern = match.group(2), match.group(3)
    if sign in ("/", "//"):
        old, _, new = pattern.replace("\\/", "\0").partition("/")
        plain = re.escape(old.replace("\0", "/"))
        return re.sub(plain, lambda _: new.replace("\0", "/"), found, count=0 if sign == "//" else 1)
    longest = sign in ("%%", "##")
    ends = range(len(found) + 1)
    if sign[0] == "#":
        cuts = [
            found[at:] for at in (reversed(ends) if longest else ends) if fnmatchcase(found[:at], pattern)
        ]
    else:
        cuts = [
            found[:at] for at in (ends if longest else reversed(ends)) if fnmatchcase(found[at:], pattern)
        ]
    return cuts[0] if cuts else found


def summed(text: str, values: Values) -> str | None:
    """A sum of whole numbers and variables, by bash's rules for + - * / % and brackets; None for any other."""

    def number(match: re.Match[str]) -> str:
        found = values.get(match.group().strip("${}"))
        return found if isinstance(found, str) and re.fullmatch(r"[0-9]+", found) else "?"

    plain = re.sub(r"\$?\{?[A-Za-z_]\w*\}?", number, text)
    if not re.fullmatch(r"[0-9+\-*/%() \t]{1,200}", plain) or "**" in plain:
        return None
    try:
        return str(calculated(ast.parse(plain.strip().replace("//", "?"), mode="eval").body))
    except (SyntaxError, ValueError, ZeroDivisionError):
        return None


def calculated(node: ast.AST) -> int:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.BinOp):
        one, other = calculated(node.left), calculated(node.right)
        if isinstance(node.op, ast.Div):
            return int(one / other)
        if isinstance(node.op, ast.Add | ast.Sub | ast.Mult | ast.Mod):
            signs = {ast.Add: one + other, ast.Sub: one - other, ast.Mult: one * other}
            return signs[type(node.op)] if type(node.op) in signs else one % other
    raise ValueError(node)
