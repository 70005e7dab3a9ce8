"""Regular expressions that come from a file, tried in bounded time.

`re` tries one way after the other, and an expression of eight characters can have more ways than there are seconds.
Here all ways are followed at once: each part of the expression maps the set of places where it may begin to the set
of places where it may end. The answer to "does it match the whole text" is the same; what depends on one way alone
(back references, lookbehind) is not tried.
"""

from __future__ import annotations

import re
import time
import warnings
from functools import lru_cache
from typing import Any, FrozenSet, List, Optional, Sequence, Tuple

try:
    from re import _constants as codes  # type: ignore[attr-defined]  # the parsed form has no public name
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # before Python 3.11
    import sre_constants as codes  # type: ignore[no-redef]
    import sre_parse as parser  # type: ignore[no-redef]

LONGEST_PATTERN, LONGEST_TEXT, MOST_REPEATS, DEEPEST = 4096, 512, 512, 4
SECONDS = 5.0
CHEAP_REPEATS, CHEAP_BRANCHES, CHEAP_TEXT = 3, 64, 128
"""What `re` itself tries within some milliseconds, as nearly all expressions of real adapters."""
ENDLESS = float("inf")

_CHARACTERS = (codes.LITERAL, codes.NOT_LITERAL, codes.ANY, codes.IN)
Positions = FrozenSet[int]
Part = Tuple[Any, Any]


class NotTried(Exception):
    """The expression holds something that cannot be followed here, or the time is over."""


class Tries:
    """Matches against one checkpoint's expressions, which take `seconds` together at most."""

    def __init__(self, seconds: float = SECONDS):
        self.left = seconds
        self.refused: Optional[str] = None

    def matches(self, pattern: str, text: str) -> Optional[bool]:
        """Whether the pattern matches the whole text; None if that was not tried, and then `refused` is a pattern."""
        began = time.monotonic()
        try:
            if len(pattern) > LONGEST_PATTERN or len(text) > LONGEST_TEXT or self.left <= 0:
                raise NotTried("size or time")
            parts, cheap = _parsed(pattern)
            if cheap and len(text) <= CHEAP_TEXT:
                return re.fullmatch(pattern, text) is not None
            return len(text) in _ends(parts, text, frozenset((0,)), began + self.left)
        except (NotTried, re.error, OverflowError, RecursionError):
            self.refused = self.refused or pattern
            return None
        finally:
            self.left -= time.monotonic() - began


@lru_cache(maxsize=1024)
def _parsed(pattern: str) -> Tuple[List[Part], bool]:
    """The expression's parts, and whether `re` has few ways to try."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a doubtful escape is the file's own
        tree = parser.parse(pattern)
    if tree.state.flags & ~re.UNICODE:
        raise NotTried("flags")
    parts = list(tree)  # type: ignore[arg-type]  # it has __getitem__ and __len__ alone
    _check(parts, 0)
    repeats, branches = _ways(parts)
    return parts, repeats <= CHEAP_REPEATS and branches <= CHEAP_BRANCHES


def _ways(parts: Sequence[Part]) -> Tuple[float, int]:
    """(repetitions of a single character, the ways through all alternatives); the first is endless for any other."""
    repeats, branches = 0.0, 1
    for code, value in parts:
        inner: List[Sequence[Part]] = []
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            if value[:2] == (0, 1):
                inner, branches = [value[2]], branches * 2
            else:
                single = len(value[2]) == 1 and value[2][0][0] in _CHARACTERS
                repeats += 1 if single else ENDLESS
        elif code is codes.BRANCH:
            ways = [_ways(branch) for branch in value[1]]
            repeats += max(way[0] for way in ways)
            branches *= sum(way[1] for way in ways)
        elif code is codes.SUBPATTERN:
            inner = [value[-1]]
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            inner = [value[1]]
        for below in inner:
            more, times = _ways(below)
            repeats, branches = repeats + more, branches * times
    return repeats, branches


def _check(parts: Sequence[Part], depth: int) -> None:
    """Refuses repetitions that are nested deeper than any name needs: each level costs the text's length once more."""
    if depth > DEEPEST:
        raise NotTried("nested")
    for code, value in parts:
        if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            if value[0] > MOST_REPEATS:
                raise NotTried("repeats")
            _check(value[2], depth + 1)
        elif code is codes.BRANCH:
            for branch in value[1]:
                _check(branch, depth)
        elif code is codes.SUBPATTERN:
            if value[1] or value[2]:
                raise NotTried("flags")
            _check(value[-1], depth)
        elif code in (codes.ASSERT, codes.ASSERT_NOT):
            if value[0] < 0:
                raise NotTried("lookbehind")
            _check(value[1], depth + 1)


def _ends(parts: Sequence[Part], text: str, places: Positions, until: float) -> Positions:
    for part in parts:
        if not places:
            break
        places = _end(part, text, places, until)
    return places


def _end(part: Part, text: str, places: Positions, until: float) -> Positions:
    code, value = part
    if code in _CHARACTERS:
        return frozenset(p + 1 for p in places if p < len(text) and _takes(code, value, text[p]))
    if code in (codes.MAX_REPEAT, codes.MIN_REPEAT):
        return _repeated(value, text, places, until)
    if code is codes.BRANCH:
        return frozenset().union(*(_ends(branch, text, places, until) for branch in value[1]))
    if code is codes.SUBPATTERN:
        return _ends(value[-1], text, places, until)
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        wanted = code is codes.ASSERT
        return frozenset(p for p in places if bool(_ends(value[1], text, frozenset((p,)), until)) == wanted)
    if code is codes.AT:
        return frozenset(p for p in places if _is_at(value, text, p))
    raise NotTried(str(code))


def _repeated(value: Any, text: str, places: Positions, until: float) -> Positions:
    """A place is followed once only: a second way to it ends where the first one did."""
    least, most, inner = value
    for _ in range(least):
        places = _ends(inner, text, places, until)
    reached, fresh, count = places, places, least
    while fresh and count < most:
        if time.monotonic() > until:
            raise NotTried("time")
        fresh = _ends(inner, text, fresh, until) - reached
        reached, count = reached | fresh, count + 1
    return reached


def _takes(code: Any, value: Any, character: str) -> bool:
    if code is codes.ANY:
        return character != "\n"
    if code is codes.IN:
        return _in_class(value, character)
    return (ord(character) == value) == (code is codes.LITERAL)


def _in_class(items: Sequence[Part], character: str) -> bool:
    point, hit, wanted = ord(character), False, True
    for code, value in items:
        if code is codes.NEGATE:
            wanted = False
        elif code is codes.LITERAL:
            hit = hit or point == value
        elif code is codes.RANGE:
            hit = hit or value[0] <= point <= value[1]
        elif code is codes.CATEGORY and value in _CATEGORIES:
            hit = hit or re.match(_CATEGORIES[value], character) is not None
        else:
            raise NotTried(str(code))
    return hit == wanted


_CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d",
    codes.CATEGORY_NOT_DIGIT: r"\D",
    codes.CATEGORY_SPACE: r"\s",
    codes.CATEGORY_NOT_SPACE: r"\S",
    codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_WORD: r"\W",
}


def _is_at(value: Any, text: str, place: int) -> bool:
    if value in (codes.AT_BEGINNING, codes.AT_BEGINNING_STRING):
        return place == 0
    if value is codes.AT_END_STRING:
        return place == len(text)
    if value is codes.AT_END:
        return place == len(text) or (place == len(text) - 1 and text[place] == "\n")
    if value in (codes.AT_BOUNDARY, codes.AT_NON_BOUNDARY):
        around = [re.match(r"\w", c) is not None for c in (text[place - 1 : place], text[place : place + 1])]
        return (around[0] != around[1]) == (value is codes.AT_BOUNDARY)
    raise NotTried(str(value))
