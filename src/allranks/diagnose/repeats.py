"""Statements that a program makes again and again, each time about another item: it goes on after them."""

from __future__ import annotations

import re
from typing import Dict, Tuple

TIMES = 3
"""How often a statement is made, with other lines in between, if it is about single items."""

MANY_TIMES = 50
"""From so many times on the statement ended nothing, wherever the last one stands."""

LEAST = 5
"""Lines after the last one that show at least that the program went on."""

FORMS_KEPT = 64
WORDS_ALIKE = 4
"""So many first words are equal in two statements of one form. The words after them name the item."""

_WORD = re.compile(r"(?<!\S)\W{0,8}([^\W\d_]{2,40})\W{0,8}(?!\S)")
"""A word of letters alone: paths, numbers and most names of items are none."""

_LOOKED_AT = 200


def form_of(text: str) -> Tuple[str, ...]:
    """The first words of a line that are letters alone."""
    return tuple(_WORD.findall(text[:_LOOKED_AT])[:WORDS_ALIKE])


Said = Dict[Tuple[str, ...], Tuple[int, int, int]]
"""The statements of one stream, by their first words: how often each is made, the line of the last time, the fewest
lines from one to the next."""


def note(said: Said, text: str, number: int) -> None:
    """Notes a line of the stream that may say that something failed. Lines that follow each other count once."""
    form = form_of(text)
    times, last, fewest = said.get(form, (0, -1, 0))
    if number - last <= 1:
        said[form] = (times, number, fewest)
    elif times or len(said) < FORMS_KEPT:
        said[form] = (times + 1, number, min(fewest or number - last, number - last) if times else 0)


def are_of_items(said: Said, text: str, lines: int, closed: bool) -> bool:
    """Whether a stream of so many lines makes this statement about single items: after the last one it went on for
    longer than it did at least once between two of them, or it closed, or it made it MANY_TIMES."""
    times, last, fewest = said.get(form_of(text), (0, 0, 0))
    return times >= MANY_TIMES or (times >= TIMES and (closed or lines - last >= max(LEAST, fewest)))


def was_survived(said: Said, text: str) -> bool:
    """Whether the stream made this statement so often before that it is about single items, and went on each time."""
    return said.get(form_of(text), (0, 0, 0))[0] > TIMES
