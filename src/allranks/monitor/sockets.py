"""The ranks' TCP connections at a stall: which ones get no answer, and what that means for a node."""

from __future__ import annotations

from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

from allranks.core.node_events import Socket
from allranks.monitor.run_state import RunState

RESENT = 3
"""How often TCP must have sent the bytes again. TCP sends again after 0.2 s and then doubles the pause: three times
is 1.4 s without an answer; after 12 s it is five times (seen on a link that drops everything). The kernel of a
stopped process still answers."""

LINES = 3


class Broken(NamedTuple):
    """A connection whose bytes TCP sends again and again. Addresses are without their ports."""

    rank: int
    local: str
    remote: str
    text: str


def host_of(address: str) -> str:
    return address.rpartition(":")[0]


def _sockets(run: RunState, rank: int) -> Sequence[Socket]:
    look = run.looks.get(rank)
    return (look.sockets or ()) if look is not None else ()


def broken(run: RunState, rank: int) -> Iterator[Broken]:
    """This rank's connections without an answer: established ones, and those that cannot be opened."""
    for one in _sockets(run, rank):
        opening = one.state == "SYN_SENT"
        if one.resent < RESENT or not (opening or one.unsent_bytes > 0):
            continue
        what = "it cannot be opened" if opening else f"{one.unsent_bytes:,} bytes are not answered"
        text = f"rank {rank}'s connection to {one.remote}: {what}, sent again {one.resent} times"
        yield Broken(rank, host_of(one.local), host_of(one.remote), text)


def lines(run: RunState, rank: int) -> List[str]:
    """Lines about the connections of one rank: its own without an answer, those of others to its addresses, and the
    bytes that it has not read."""
    own = {host_of(one.local) for one in _sockets(run, rank)} - {""}
    found = [one.text for one in broken(run, rank)]
    for other in sorted(run.looks):
        found += [one.text for one in broken(run, other) if other != rank and one.remote in own]
    waiting = [one.unread_bytes for one in _sockets(run, rank) if one.unread_bytes > 0]
    if waiting:
        count = f"{len(waiting)} connection{'s' if len(waiting) > 1 else ''}"
        found.append(f"rank {rank} has not read {sum(waiting):,} bytes of {count}")
    return found[:LINES]


def nodes_by_address(run: RunState) -> Dict[str, str]:
    """Address → node, from the ranks' own ends; without addresses that several nodes have."""
    found: Dict[str, Set[str]] = {}
    for number in run.looks:
        node = run.ranks[number].node if number in run.ranks else None
        for host in {host_of(one.local) for one in _sockets(run, number)}:
            if node is not None and host:
                found.setdefault(host, set()).add(node)
    return {host: next(iter(names)) for host, names in found.items() if len(names) == 1}


def unanswered(run: RunState) -> "Tuple[Optional[str], List[Broken]]":
    """(the node, the connections without an answer). The node is the only one that is part of all of them. It is None
    if no node or two nodes are: for a single pair it is unknown which end is broken."""
    pairs = _pairs(run)
    common = [name for name in {n for pair in pairs for n in pair} if all(name in pair for pair in pairs)]
    return (common[0] if len(common) == 1 else None), list(pairs.values())


def apart(run: RunState) -> "Optional[Tuple[str, str, Broken]]":
    """The two nodes that do not answer each other, and one of their connections; None unless exactly one pair is
    concerned."""
    pairs = _pairs(run)
    return next(((*names, one) for names, one in pairs.items()), None) if len(pairs) == 1 else None


def _pairs(run: RunState) -> "Dict[Tuple[str, str], Broken]":
    """By the names of two nodes: a connection between them without an answer."""
    by_address = nodes_by_address(run)
    pairs: Dict[Tuple[str, str], Broken] = {}
    for number in sorted(run.looks):
        mine = run.ranks[number].node if number in run.ranks else None
        for one in broken(run, number):
            other = by_address.get(one.remote)
            if mine is not None and other is not None and other != mine:
                pairs.setdefault((min(mine, other), max(mine, other)), one)
    return pairs
