"""Searches large blocks of a log for a thousand texts at once with Hyperscan, if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from allranks.core.kept_beside import kept, key_of

VERSION = b"1"
"""To be raised if the same texts become other expressions (`covered`, `re_of`)."""


@cache
def suspects() -> Callable[[bytes], list[int]] | None:
    """A function that finds the ends of all matches in a text; a match means that a line may be more than plain text.
    None without Hyperscan: each new line is then read separately, with the same results."""
    try:
        import hyperscan
    except ImportError:
        return None
    from allranks.diagnose.suspects import covered, expressions

    texts, anywhere, beginnings = expressions()

    def those_anywhere() -> list[str]:
        known = covered(texts, anywhere)
        return [*(re_of(text) for text in texts if text not in known), *anywhere]

    try:  # two take less time than one with all of them
        matchers = [
            _matcher(hyperscan, "anywhere", [*texts, *anywhere], those_anywhere),
            _matcher(hyperscan, "beginnings", beginnings),
        ]
    except hyperscan.error:  # an unknown processor
        return None

    def ends(text: bytes) -> list[int]:
        found: list[int] = []
        for database, scratch in matchers:
            database.scan(text, match_event_handler=lambda *match: found.append(match[2]), scratch=scratch)
        return found

    return ends


def _matcher(hyperscan: Any, name: str, texts: list[str], made: Callable[[], list[str]] | None = None) -> Any:
    """A database of these expressions, or of those that are `made` of these texts. It is kept, since it takes much
    longer to compile it than to read it."""

    def compiled() -> Any:
        expressions = [one.encode() for one in (texts if made is None else made())]
        database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        database.compile(
            expressions=expressions,
            ids=list(range(len(expressions))),
            elements=len(expressions),
            flags=[hyperscan.HS_FLAG_MULTILINE] * len(expressions),
        )
        return database

    key = key_of(hyperscan.__version__.encode(), VERSION, *map(str.encode, texts))
    data = kept(__file__, name, key, lambda: hyperscan.dumpb(compiled()))
    try:
        database = hyperscan.loadb(data, mode=hyperscan.HS_MODE_BLOCK)
    except hyperscan.error:  # it is of another processor, which shares these files with this one
        database = compiled()
    return database, hyperscan.Scratch(database)


def re_of(text: str) -> str:
    """A literal text, as an expression that PCRE reads."""
    return "".join(c if c.isalnum() or c in " _" or ord(c) > 127 else "\\" + c for c in text)
