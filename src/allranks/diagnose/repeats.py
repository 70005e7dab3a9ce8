"""Statements that a program makes again and again, each time about another item: it goes on after them."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Tuple

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


class Statement(NamedTuple):
    """How often it is made, its last line in its stream and over all sources, the fewest lines from one to the next."""

    times: int = 0
    number: int = 0
    order: int = 0
    fewest: int = 0


Said = Dict[Tuple[str, ...], Statement]
"""The statements of one stream, by their first words."""

_NONE = Statement()


def note(said: Said, text: str, number: int, order: int) -> None:
    """Notes a line of the stream that may say that something failed. Lines that follow each other count once."""
    form = form_of(text)
    known = said.get(form)
    if known is None:
        if len(said) < FORMS_KEPT:
            said[form] = Statement(1, number, order)
        return
    apart = number - known.number
    if apart <= 1:
        said[form] = known._replace(number=number, order=order)
    else:
        said[form] = Statement(known.times + 1, number, order, min(known.fewest or apart, apart))


def are_of_items(said: Said, text: str, lines: int, closed: bool) -> bool:
    """Whether a stream of so many lines makes this statement about single items: after the last one it went on for
    longer than it did at least once between two of them, or it closed, or it made it MANY_TIMES."""
    known = said.get(form_of(text), _NONE)
    went_on = closed or lines - known.number >= max(LEAST, known.fewest)
    return known.times >= MANY_TIMES or (known.times >= TIMES and went_on)


def was_survived(said: Said, text: str) -> bool:
    """Whether the stream made this statement so often before that it is about single items, and went on each time."""
    return said.get(form_of(text), _NONE).times > TIMES


def last_said(said: Said) -> int:
    """The last line over all sources in which the stream says that something failed; 0 if it never does."""
    return max((known.order for known in said.values()), default=0)
