"""The ports at which ranks look for their store. One that looks for another port than the rest never finds them."""

from __future__ import annotations

import re
from typing import Any, Callable, List, NamedTuple, Optional, Tuple

from allranks.diagnose.lines import Line
from allranks.diagnose.store import Store
from allranks.diagnose.symptom import Pattern

_KEPT = 256
_PORT = r"(?::|[Pp][Oo][Rr][Tt]\W{1,4})(\d{4,5})\b"
_WHO = re.compile(r"(?i)\b(?:rank|node|worker|host|proc(?:ess)?|trainer)[ _:=#-]{0,2}(\d{1,5})\b")
_OF_NODE = re.compile(r"(?i)^(?:rank|node|worker|host|trainer)[_-]?(\d{1,5})$")


class OtherPort(NamedTuple):
    """A process that looks for `port`, its rank if a line tells it, and the port of the others."""

    port: int
    others: int
    rank: Optional[int]


def _sought(seen: Store, line: Line, match: Any) -> None:
    if len(seen.ports.sought) < _KEPT:
        seen.ports.sought.setdefault(int(match.group(1)), line)


def _found(seen: Store, line: Line, match: Any) -> None:
    if len(seen.ports.found) < _KEPT:
        seen.ports.found.add(int(match.group(1)))


def _told(seen: Store, line: Line, match: Any) -> None:
    if len(seen.ports.told) < _KEPT:
        seen.ports.told.setdefault(int(match.group(1)), []).append(line)


FACTS: Tuple[Tuple[Pattern, Callable[[Store, Line, Any], None]], ...] = (
    (Pattern("trying to connect to", r"trying to connect to \(?[\w.:\[\]-]{1,80}?(?:, |:)(\d{1,5})\)?"), _sought),
    (Pattern("waitForInput", r"remote=\[?[\w.:-]{1,80}\]?:(\d{1,5})\b"), _found),
    *(
        (Pattern(word, _PORT), _told)
        for word in (
            "connecting", "Connecting", "joining", "Joining", "rendezvous", "Rendezvous", "store", "MASTER_PORT",
            "master_port", "tcp:", "head", "master", "coordinator",
        )
    ),
)  # fmt: skip
HANDLERS = (_told,)


def other_port(seen: Store) -> Optional[OtherPort]:
    """The only process that looks for its store at a port where none is, while others wait for it at another one."""
    if len(seen.ports.sought) != 1 or len(seen.ports.found) != 1:
        return None
    ((port, line),), (others,) = seen.ports.sought.items(), seen.ports.found
    return None if port == others else OtherPort(port, others, _rank_at(seen, port, line))


def _rank_at(seen: Store, port: int, line: Line) -> Optional[int]:
    """The only rank that a line with this port names."""
    ranks: List[int] = []
    for one in (*seen.ports.told.get(port, ()), line):
        named = _WHO.search(one.text)
        of_node = _OF_NODE.match(one.node or "")
        rank = seen.rank_of(one)
        found = named if named is not None else of_node
        if rank is None and found is not None:
            rank = int(found.group(1))
        if rank is not None:
            ranks.append(rank)
    return ranks[0] if len(set(ranks)) == 1 else None
