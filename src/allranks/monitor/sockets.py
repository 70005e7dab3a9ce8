"""The ranks' TCP connections at a stall: which ones nobody answers, and what that says of a node."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Set, Tuple

from allranks.monitor.run_state import RunState

RESENT = 3
"""TCP sends again after 0.2 s and then doubles: thrice is 1.4 s without an answer; after 12 s it is five times (seen
on a link that drops all).
A peer whose process is stopped still has a kernel that answers."""

LINES = 3


class Broken(NamedTuple):
    """A connection whose bytes are sent again and again. Addresses are without their ports."""

    rank: int
    local: str
    remote: str
    text: str


def host_of(address: str) -> str:
    return address.rpartition(":")[0]


def _rows(run: RunState, rank: int) -> List[Mapping[str, Any]]:
    rows = run.looks.get(rank, {}).get("sockets")
    return [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []


def _integer(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def broken(run: RunState, rank: int) -> Iterator[Broken]:
    """This rank's connections that nobody answers: established ones, and such as do not come about."""
    for row in _rows(run, rank):
        resent, unsent = _integer(row.get("resent")), _integer(row.get("unsent_bytes"))
        opening = row.get("state") == "SYN_SENT"
        if resent < RESENT or not (opening or unsent > 0):
            continue
        remote = str(row.get("remote"))
        what = "it does not come about" if opening else f"{unsent:,} bytes are not answered"
        text = f"rank {rank}'s connection to {remote}: {what}, sent again {resent} times"
        yield Broken(rank, host_of(str(row.get("local"))), host_of(remote), text)


def lines(run: RunState, rank: int) -> List[str]:
    """What the connections say of one rank: its own that nobody answers, those of others to its node's addresses, and
    the bytes that it has not read."""
    own = {host_of(str(row.get("local"))) for row in _rows(run, rank)} - {"None", ""}
    found = [one.text for one in broken(run, rank)]
    for other in sorted(run.looks):
        found += [one.text for one in broken(run, other) if other != rank and one.remote in own]
    unread = [_integer(row.get("unread_bytes")) for row in _rows(run, rank)]
    waiting = [size for size in unread if size > 0]
    if waiting:
        count = f"{len(waiting)} connection{'s' if len(waiting) > 1 else ''}"
        found.append(f"rank {rank} has not read {sum(waiting):,} bytes of {count}")
    return found[:LINES]


def nodes_by_address(run: RunState) -> Dict[str, str]:
    """Whose address it is, as the ranks' own ends tell; one that several nodes have is nobody's."""
    found: Dict[str, Set[str]] = {}
    for number in run.looks:
        node = run.ranks[number].node if number in run.ranks else None
        for row in _rows(run, number):
            host = host_of(str(row.get("local")))
            if node is not None and host:
                found.setdefault(host, set()).add(node)
    return {host: next(iter(names)) for host, names in found.items() if len(names) == 1}


def unanswered(run: RunState) -> "Tuple[Optional[str], List[Broken]]":
    """(the one node with which two others or more have connections that nobody answers, these connections). None
    where no node is common to all of them, or where two are: which end of one pair is to blame nobody can tell."""
    by_address = nodes_by_address(run)
    pairs: Dict[Tuple[str, str], Broken] = {}
    for number in sorted(run.looks):
        mine = run.ranks[number].node if number in run.ranks else None
        for one in broken(run, number):
            other = by_address.get(one.remote)
            if mine is not None and other is not None and other != mine:
                pairs.setdefault((min(mine, other), max(mine, other)), one)
    common = [name for name in {n for pair in pairs for n in pair} if all(name in pair for pair in pairs)]
    return (common[0] if len(common) == 1 else None), list(pairs.values())
