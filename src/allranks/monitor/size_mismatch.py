"""Finds the rank whose tensor had another size, if gloo aborted a rank for it. The aborted rank is mostly not the
guilty one.

gloo aborts a rank that receives more than its own tensor can hold. That may be any rank that got the larger tensor.
The others then lose a peer, and report where they were and their newest collective.
"""

from __future__ import annotations

import re
import signal
from collections import Counter
from typing import Collection, Dict, List, NamedTuple, Optional, Tuple

from allranks.core import Diagnosis, Where
from allranks.core.causes import UNPROVEN
from allranks.core.rank_events import Frame
from allranks.core.stack_places import place_of
from allranks.core.text import spans
from allranks.core.untrusted import listing
from allranks.diagnose.catalogue import section
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.collective_mismatch import CAUSE as COLLECTIVE_MISMATCH
from allranks.monitor.culprit import collateral
from allranks.monitor.log_attribution import Logs, own_logs
from allranks.monitor.run_state import RankState, RunState

RECEIVED = re.compile(r"op\.preamble\.length <= op\.nbytes\. (\d{1,18}) vs (\d{1,18})")


class _Told(NamedTuple):
    """A rank's last collective: its operation with the sizes, the number of elements, and the line that reports it."""

    what: str
    numbers: Optional[int]
    place: Optional[Frame]
    text: str


def by_size(run: RunState, logs: Logs) -> Optional[Diagnosis]:
    """The diagnosis with the rank whose tensor differs, if the others' reports prove it; otherwise the cause without
    a place."""
    aborted = {r.rank: line for r in run.ranks.values() if (line := _received_more(r, logs)) is not None}
    if not aborted:
        return None
    others = {r.rank: told for r in run.ranks.values() if r.rank not in aborted and (told := _told(run, r))}
    odd, reason = _odd(list(aborted), others, run.world_size or len(run.ranks))
    where = Where()
    if odd is not None:
        rank, place = run.ranks[odd], others[odd].place if odd in others else None
        where = Where(
            node=rank.node, rank=odd, file=place[0] if place else None, line=place[1] if place else None
        )
    first = [run.ranks[n] for n in aborted]
    said = [
        f"rank {n} on {run.ranks[n].node} was aborted by gloo: {line}"
        for n, line in list(aborted.items())[:2]
    ]
    return Diagnosis(
        cause=COLLECTIVE_MISMATCH.id,
        confidence="likely" if odd is not None else UNPROVEN,
        where=where,
        first_seen=min(r.ended_at or 0.0 for r in first),
        evidence=(*said, *(f"rank {n}: {one.text}" for n, one in sorted(others.items())[:6])),
        collateral=collateral(run, [run.ranks[odd]] if odd is not None else []),
        why=f"{reason} gloo aborts whoever receives more than its own tensor takes, and the rest lose that peer.",
        fix=section(COLLECTIVE_MISMATCH.id, "What to do"),
    )


def _received_more(rank: RankState, logs: Logs) -> Optional[str]:
    if rank.code != -signal.SIGABRT:
        return None
    found = (RECEIVED.search(line) for lines in own_logs(logs, rank) for line in lines)
    match = next(filter(None, found), None)
    return f"it received {int(match[1])} bytes where its own tensor takes {int(match[2])}" if match else None


def _told(run: RunState, rank: RankState) -> Optional[_Told]:
    flight, raised = run.flights.get(rank.rank), rank.exceptions
    frames = list(raised[0].payload.innermost) if raised else []
    place = place_of(frames) if frames else None
    at = f" at {clean(place[0])}:{place[1]}" if place is not None else ""
    if flight is not None:
        what = f"{flight.operation} (sizes {flight.sizes})"
        return _Told(what, _numbers(flight.sizes), place, clean(f"its last collective is {what}{at}"))
    return (
        None if place is None else _Told(f"{place[0]}:{place[1]}", None, place, f"it was in a collective{at}")
    )


def _numbers(sizes: object) -> Optional[int]:
    """The number of elements of tensors of these sizes, added up."""
    total = 0
    for shape in listing(sizes):
        count = 1
        for length in listing(shape):
            if not isinstance(length, int) or isinstance(length, bool):
                return None
            count *= length
        total += count
    return total or None


def _odd(aborted: Collection[int], others: Dict[int, _Told], ranks: int) -> Tuple[Optional[int], str]:
    """The one rank that differs from the rest, and the reason for the choice."""
    kinds: Dict[str, List[int]] = {}
    for number, one in others.items():
        kinds.setdefault(one.what, []).append(number)
    counted = Counter({what: len(ranks) for what, ranks in kinds.items()}).most_common()
    if len(counted) == 1 and counted[0][1] > 1 and len(aborted) == 1:
        (odd,) = aborted
        return odd, f"ranks {spans(kinds[counted[0][0]])} were in the same collective, and it was not."
    if len(counted) == 2 and counted[1][1] == 1 and counted[0][1] > 1:
        (odd,) = kinds[counted[1][0]]
        return odd, f"rank {odd} was in another collective than ranks {spans(kinds[counted[0][0]])}."
    if len(counted) == 2 and len(others) == 2 and ranks == 3:
        # If one of three ranks differs from two, the aborted rank belongs to the smaller ones, since it got too much.
        smaller, larger = sorted(others, key=lambda number: others[number].numbers or 0)
        if others[smaller].numbers and others[smaller].numbers != others[larger].numbers:
            return larger, f"rank {larger} gave the larger tensor, the others took the smaller one."
    return (
        None,
        "Ranks gave tensors of different sizes to one collective; nothing proves which of them is wrong.",
    )
