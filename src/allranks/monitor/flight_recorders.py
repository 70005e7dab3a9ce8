"""Compares torch's flight recorders: who waits for whom, and who is in another collective.

A rank that waits at a number of a group waits for the ranks of the group that have not reached it. Following this
over all groups (tensor, data and pipeline parallelism make several) leads to the rank that does not wait for another
one. The others wait because of it, even if they are behind in other groups.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Set, Tuple

from allranks.core.rank_events import Collective
from allranks.core.stack_places import doing, place_of, waits
from allranks.diagnose.symptoms.collective_mismatch import CAUSE as COLLECTIVE_MISMATCH
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.monitor.rank_stacks import frames_of
from allranks.monitor.run_state import RunState
from allranks.monitor.suspect import Living, Odd, evidence, named, whole_node

SAME_SIZES = re.compile(r"all_?reduce|broadcast|(^|:)_?reduce", re.IGNORECASE)
"""Collectives whose sizes must be the same on all ranks; an all-gather's or all-to-all's may differ."""

Awaits = Mapping[int, Tuple[FrozenSet[int], ...]]
ENOUGH = 2
"""At least so many ranks must agree before another one counts as different."""


class CollectivePosition(NamedTuple):
    """The position of a rank in a group: `entered` is the newest number that its host has entered, `at` the number at
    which it waits (None if it does not wait). `started`: whether its GPU has begun that collective; None if unknown."""

    entered: int
    at: Optional[int]
    operation: str
    sizes: str
    started: Optional[bool]

    @property
    def kind(self) -> Tuple[str, str]:
        return self.operation, self.sizes

    @property
    def text(self) -> str:
        return f"{self.operation} number {self.at}" + (f" (sizes {self.sizes})" if self.sizes else "")


def by_flight(run: RunState, living: Living) -> Optional[Odd]:
    """The rank that is in another collective than the others at the same number; otherwise the rank at which all
    waiting ends. It has `rivals` if two sides differ and nothing shows which one is wrong."""
    places = groups(run, living)
    return _mismatch(run, living, places) or _awaited(run, living, places)


def groups(run: RunState, living: Living) -> Dict[str, Dict[int, CollectivePosition]]:
    """By process group: the position of each rank."""
    found: Dict[str, Dict[int, CollectivePosition]] = {}
    for rank, flight in run.flights.items():
        for row in (flight,) if flight.groups is None else flight.groups:
            place = _place(row) if rank in living else None
            if place is not None:
                found.setdefault(row.group, {})[rank] = place
    return found


def _place(row: Collective) -> Optional[CollectivePosition]:
    if row.sequence is None:
        return None
    one = row.pending if row.is_followed else row
    if one is None or one.state == "completed":
        return CollectivePosition(row.sequence, None, row.operation, "", None)
    number = row.sequence if one.sequence is None else one.sequence
    sizes = str(one.sizes) if SAME_SIZES.search(one.operation) else ""
    started = one.state == "started" if row.is_followed else None
    return CollectivePosition(row.sequence, number, one.operation, sizes, started)


# ---- another collective ----


def _mismatch(
    run: RunState, living: Living, places: Mapping[str, Mapping[int, CollectivePosition]]
) -> Optional[Odd]:
    doubtful = None
    for group in places.values():
        number = max(_front(place)[0] for place in group.values())
        here = {rank: place for rank, place in group.items() if place.at == number}
        if any(place.at is None and place.entered == number for place in group.values()):
            continue  # a rank has passed it, so no rank waits there
        odd = _unlike(run, living, here)
        if odd is not None and odd.proven:
            return odd
        doubtful = doubtful or odd
    return doubtful


def _unlike(run: RunState, living: Living, here: Mapping[int, CollectivePosition]) -> Optional[Odd]:
    """Compares the ranks at one number of a group: returns the rank or node in another collective, or else the
    sides."""
    counted = Counter(place.kind for place in here.values()).most_common()
    if len(counted) < 2:
        return None
    most = [rank for rank, place in here.items() if place.kind == counted[0][0]]
    rest = sorted(set(here) - set(most))
    # Only a different operation proves it: sizes can be reported in several forms.
    proven = len({place.operation for place in here.values()}) > 1
    node = whole_node(rest, living)
    odd, common = here[rest[0]], here[most[0]]
    if len(counted) == 2 and len(most) >= ENOUGH and len(rest) < len(most) and (len(rest) == 1 or node):
        subject = "its ranks are" if node else "it is"
        reason = f"{subject} in {odd.text}, the others in {common.text}"
        return _told(run, living, rest[0], COLLECTIVE_MISMATCH.id, reason, proven, node)
    if not proven:
        return None
    sides = [
        f"{named(r for r in here if here[r].kind == kind)}: {next(p for p in here.values() if p.kind == kind).text}"
        for kind, _ in counted[:4]
    ]
    found = _told(run, living, rest[0], COLLECTIVE_MISMATCH.id, "; ".join(sides), True, None)
    return found._replace(rivals=tuple(sorted(most)))


# ---- who waits for whom ----


def _awaited(
    run: RunState, living: Living, places: Mapping[str, Mapping[int, CollectivePosition]]
) -> Optional[Odd]:
    awaits = waiting_for(places)
    awaited = frozenset().union(*{others for parts in awaits.values() for others in parts})
    ends = sorted(rank for rank in awaited if rank not in awaits)
    node = whole_node(ends, living)
    if not ends or (len(ends) > 1 and node is None) or not lead_to(awaits, set(ends)):
        return None
    rank, heard = ends[0], all(number in run.flights for number in living)
    frames = frames_of(run, rank)
    if not heard and waits(frames):
        return None  # it also waits for a rank whose recorder is unknown
    name, ahead, mine = _most_waited(places, awaits, rank)
    reason = f"its last collective of group {name} is number {mine}, the others' {ahead}"
    if frames:
        reason = f"{doing(frames)}; {reason}"
    # If a host waits for its GPU, it is in the user's code, and the GPU may wait for the pipeline stage before it.
    piped = run.flights[rank].p2p and bool(living[rank].uuid or living[rank].bus_id)
    proven = heard and not waits(frames) and not piped
    return _told(run, living, rank, COLLECTIVE_TIMEOUT_STRAGGLER.id, reason, proven, node)


def waiting_for(places: Mapping[str, Mapping[int, CollectivePosition]]) -> Awaits:
    """By rank, one set per group: the ranks for which it waits. They have not reached its number, or their GPUs have
    not begun it."""
    found: Dict[int, Tuple[FrozenSet[int], ...]] = {}
    for group in places.values():
        late: Dict[Tuple[int, bool], List[int]] = {}
        for rank, place in group.items():
            late.setdefault(_front(place), []).append(rank)
        behind: Dict[Tuple[int, bool], FrozenSet[int]] = {}
        for rank, place in group.items():
            if place.at is None or len(late) < 2:
                continue
            needs = (place.at, place.started is True)
            if needs not in behind:
                behind[needs] = frozenset(r for front, ranks in late.items() if front < needs for r in ranks)
            if behind[needs]:
                found[rank] = (*found.get(rank, ()), behind[needs])
    return found


def _front(place: CollectivePosition) -> Tuple[int, bool]:
    """How far a rank has come: (the number at which it waits, else the last one that it entered; whether its GPU has
    begun it)."""
    if place.at is None:
        return place.entered, True
    return place.at, place.started is not False


def lead_to(awaits: Awaits, ends: Set[int]) -> bool:
    """Whether all waiting ends at the ranks `ends`. In a circle no rank is the first."""
    reached, turned = set(ends), True
    while turned:
        left = ((rank, parts) for rank, parts in awaits.items() if rank not in reached)
        fresh = {rank for rank, parts in left if not all(others.isdisjoint(reached) for others in parts)}
        turned = bool(fresh)
        reached |= fresh
    return set(awaits) <= reached


def _most_waited(
    places: Mapping[str, Mapping[int, CollectivePosition]], awaits: Awaits, rank: int
) -> Tuple[str, str, int]:
    """(name, the others' numbers, the rank's own number) of the group in which most ranks wait for this one."""
    best: Tuple[int, str, List[int], int] = (-1, "", [], 0)
    for name, group in places.items():
        waiting = [r for r, parts in awaits.items() if r in group and any(rank in others for others in parts)]
        numbers = [at for at in (group[r].at for r in waiting) if at is not None]
        if rank in group and len(numbers) > best[0]:
            mine = group[rank]
            best = (len(numbers), name, numbers, mine.entered if mine.at is None else mine.at)
    low, high = min(best[2], default=0), max(best[2], default=0)
    return best[1], f"{low}" if low == high else f"{low} to {high}", best[3]


def _told(
    run: RunState, living: Living, rank: int, cause: str, reason: str, proven: bool, node: Optional[str]
) -> Odd:
    frame = place_of(frames_of(run, rank))
    return Odd(rank, cause, reason, frame, evidence(run, living, rank), proven, node)
