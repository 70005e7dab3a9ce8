"""Statements that a program makes again and again, each time about another item: it goes on after them."""

from __future__ import annotations

import re
from typing import Dict, NamedTuple, Optional, Tuple

from allranks.diagnose.lines import Line

TIMES = 3
"""How often a statement is made, with other lines in between, if it is about single items."""

MANY_TIMES = 50
"""From so many times on the statement ended nothing, wherever the last one stands."""

LEAST = 5
"""Lines after the last one that show at least that the program went on."""

SECONDS_APART = 2.0
"""Processes that fail together say so at nearly the same time."""

TRIES = 2.0
"""So many times the longest time between two tries must pass, if the tries are to have ended nothing."""

MOST, LISTED = 0.8, 20
"""A stream with this share of such statements, each made so often, is a list of errors."""

FORMS_KEPT = 64
WORDS_ALIKE = 4
"""So many first words are equal in two statements of one form. The words after them name the item."""

_WORD = re.compile(r"(?<!\S)\W{0,8}([^\W\d_]{2,40})\W{0,8}(?!\S)")
"""A word of letters alone: paths, numbers and most names of items are none."""

_LOOKED_AT = 200
_NO_LETTERS = {n: None for n in range(0x80) if not chr(n).isalpha()}


def form_of(text: str) -> Tuple[str, ...]:
    """The first words of a line that are letters alone."""
    return tuple(_WORD.findall(text[:_LOOKED_AT])[:WORDS_ALIKE])


class Statement(NamedTuple):
    """All statements of one form in a stream so far."""

    times: int = 0
    """How often it is made with other lines in between."""
    number: int = 0
    """Its last line in its stream."""
    order: int = 0
    """Its last line over all sources."""
    fewest: int = 0
    """The fewest lines from one to the next."""
    others: int = 0
    """How often it follows itself at once and names another item."""
    later: int = 0
    """How often it follows itself at once, with the same item, some time later."""
    at: Optional[float] = None
    """The time of the last one, in seconds."""
    widest: float = 0.0
    """The longest time from one to the next, in seconds."""
    letters: str = ""
    """The letters of the last one."""

    @property
    def items(self) -> int:
        return self.times + self.others


Said = Dict[Tuple[str, ...], Statement]
"""The statements of one stream, by their first words."""

_NONE = Statement()


def note(said: Said, text: str, number: int, order: int, at: Optional[float] = None) -> None:
    """Notes a line of the stream that may say that something failed, at this time (`at`, in seconds)."""
    form, letters = form_of(text), text[:_LOOKED_AT].translate(_NO_LETTERS)
    known = said.get(form)
    if known is None:
        if len(said) < FORMS_KEPT:
            said[form] = Statement(1, number, order, at=at, letters=letters)
        return
    apart = number - known.number
    if apart > 1:
        known = known._replace(times=known.times + 1, fewest=min(known.fewest or apart, apart))
    elif letters != known.letters:
        known = known._replace(others=known.others + 1)
    elif at is not None and known.at is not None and at - known.at >= SECONDS_APART:
        known = known._replace(later=known.later + 1, widest=max(known.widest, at - known.at))
    said[form] = known._replace(number=number, order=order, at=at, letters=letters)


def are_of_items(said: Said, text: str, lines: int, closed: bool, now: Optional[float] = None) -> bool:
    """Whether a stream of so many lines makes this statement about single items: after the last one it went on for
    longer than it did at least once between two of them, or it closed, or it made it MANY_TIMES. `now`: the time of
    the stream's last line, in seconds."""
    known = said.get(form_of(text), _NONE)
    went_on = closed or lines - known.number >= max(LEAST, known.fewest)
    if known.times >= MANY_TIMES or (known.items >= TIMES and went_on):
        return True
    return (
        known.items + known.later >= TIMES and lines - known.number >= LEAST and _outlived(said, known, now)
    )


def _outlived(said: Said, known: Statement, now: Optional[float]) -> bool:
    """Whether the stream went on for much longer than between two tries, and said nothing else that failed."""
    if now is None or known.at is None or last_said(said) > known.order:
        return False
    return now - known.at >= TRIES * known.widest


def _is_listed(said: Said, known: Statement, lines: int) -> bool:
    """Whether nearly all of so many lines of a stream are such statements, the last one too."""
    if known.items < LISTED or known is said.get(()):
        return False
    listed = [one for form, one in said.items() if form and one.items >= LISTED]
    return sum(one.items for one in listed) >= MOST * lines and max(one.number for one in listed) == lines


def was_survived(said: Said, text: str, lines: int) -> bool:
    """Whether the stream made this statement so often before that it is about single items, and went on each time."""
    known = said.get(form_of(text), _NONE)
    return known.times > TIMES or _is_listed(said, known, lines)


def last_said(said: Said) -> int:
    """The last line over all sources in which the stream says that something failed; 0 if it never does."""
    return max((known.order for known in said.values()), default=0)


_WARNED = re.compile(r"\.py:\d{1,7}: \w{0,60}Warning: ")


def is_warned_code(before: Optional[Line], line: Line) -> bool:
    """Whether this line is the statement that Python shows below a warning, which is the line before it."""
    if before is None or line.text[:2] != "  " or before.number != line.number - 1:
        return False
    return _WARNED.search(before.text) is not None


_WAITS = re.compile(
    r" in _{0,2}(?:\w{1,20}_)?(?:wait|join|acquire|select|poll|sleep|get(?!item|_batch|attr)|barrier|synchronize"
    r"|all_?reduce|all_?gather|reduce_scatter|broadcast|all_to_all|recv|accept|connect|readinto|readline|communicate|run_backward"
    r"|run_until_complete|run_forever|destroy_process_group|finish|close|shutdown)\w{0,20}\s{0,8}$"
    r"|/asyncio/\w{1,20}\.py\""
)


def waits(frame: str) -> bool:
    """Whether a program waits in this frame: for its threads, its processes, other ranks or a peer."""
    return _WAITS.search(frame) is not None
