"""Searches large blocks of a log for a thousand texts at once with Hyperscan, if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any


@cache
def suspects() -> Callable[[bytes], list[int]] | None:
    """A function that finds the ends of all matches in a text; a match means that a line may be more than plain text.
    None without Hyperscan: each new line is then read separately, with the same results."""
    try:
        import hyperscan
    except ImportError:
        return None
    from allranks.diagnose.suspects import expressions

    texts, anywhere, beginnings = expressions()
    try:  # two take less time than one with all of them
        matchers = [_matcher(hyperscan, [*map(re_of, texts), *anywhere]), _matcher(hyperscan, beginnings)]
    except hyperscan.error:  # an unknown processor
        return None

    def ends(text: bytes) -> list[int]:
        found: list[int] = []
        for database, scratch in matchers:
            database.scan(text, match_event_handler=lambda *match: found.append(match[2]), scratch=scratch)
        return found

    return ends


def _matcher(hyperscan: Any, whole: list[str]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[one.encode() for one in whole],
        ids=list(range(len(whole))),
        elements=len(whole),
        flags=[hyperscan.HS_FLAG_MULTILINE] * len(whole),
    )
    return database, hyperscan.Scratch(database)


def re_of(text: str) -> str:
    """A literal text, as an expression that PCRE reads."""
    return "".join(c if c.isalnum() or c in " _" or ord(c) > 127 else "\\" + c for c in text)
