"""Ranks that introduce themselves: `vela-12: process 1 of 4`, `luna: rank 0 of 3 joined`. Then the name of the machine,
or the log, tells the rank of the other lines."""

from __future__ import annotations

import re
from typing import Dict, Iterable, Iterator, Optional, Set, Tuple

from allranks.diagnose.lines import Line

Key = Tuple[str, str]
"""Whether a log, a machine or the first word of a line is meant, and its name."""

CLOCK = re.compile(
    r"(?:[\W_]{0,8}(?:[WEIFCD]\d{4}(?= )|[+]?\d{1,9}\.\d{1,9}(?=[\s|\]])"
    r"|\d{4}[-/]\d\d[-/]\d\d|\d\d[./]\d\d(?:[./]\d{2,4})?|\d\d?:\d\d:\d\d(?:[.,]\d{1,9})?Z?|T(?=\d)"
    r"|[+]?\d{1,9}(?:\.\d{1,9})? ?m?s(?![a-z]))){0,3}[\W_]{0,3}"
)
"""Times before the label of a line."""

_INTRODUCED = re.compile(
    r"(?i)(?<![a-z_])(?:(?:global[_ ]?)?(?:rank|rang|rango)[ =:#\x22]{1,3}(?P<rank>\d{1,4})(?![\d.])"
    r"|(?:process|proc|node|worker|task|host|member|machine)[ #]{1,2}(?P<one>\d{1,4})(?= ?(?:/|of|von|de) ?\d))"
)
_WORD = re.compile(
    r"(?:\[?(?:INFO|WARN(?:ING)?|ERROR|DEBUG|[IWED])\]?[ :|]{1,3})?[<\[(]?([A-Za-z][\w.-]{0,40})[>\]):| ]"
)
_LOOKED_AT = 200


def keys(line: Line, several: bool) -> Iterator[Key]:
    """What may tell the rank of a line; `several`: whether there are several logs."""
    if several and line.source:
        yield "log", line.source
    if line.node:
        yield "node", line.node
    clock = CLOCK.match(line.text)
    word = _WORD.match(line.text, clock.end() if clock is not None else 0)
    if word is not None:
        yield "word", word.group(1)


def introduced(lines: Iterable[Line], several: bool) -> Dict[Key, int]:
    """The rank of each log, machine or first word that one of its lines names, if all ranks from 0 on are named so, and
    none of them twice."""
    told: Dict[Key, Set[int]] = {}
    for line in lines:
        found = _INTRODUCED.search(line.text, 0, _LOOKED_AT)
        if found is not None:
            for key in keys(line, several):
                told.setdefault(key, set()).add(int(found.group("rank") or found.group("one")))
    known: Dict[Key, int] = {}
    for kind in ("log", "node", "word"):
        mine = {key: min(ranks) for key, ranks in told.items() if key[0] == kind and len(ranks) == 1}
        if len(mine) > 1 and sorted(mine.values()) == list(range(len(mine))):
            known.update(mine)
    return known


def rank_of(line: Line, known: Dict[Key, int], several: bool) -> Optional[int]:
    """The rank of a line by what its log, its machine or its first word is known for."""
    return next((known[key] for key in keys(line, several) if key in known), None)
