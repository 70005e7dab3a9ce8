"""One rank is persistently slower than the rest.

## How it is found
allranks compares the time that each rank needs in a step before it enters the step's first collective. A rank is a
straggler if three quarters of its last steps took longer than the median of all ranks. The difference must be more
than a tenth of a step and more than three times the spread of the ranks. Three checks in a row must agree. If
three quarters of a node's ranks are stragglers, the finding names the node. If a rank's own time is not known, its
wait for data is compared.

Under ZeRO-3 and FSDP the first collective comes before the forward pass. There only the data and the host's work
before it are compared. A GPU that computes slowly is not seen in this way; clocks-throttled reports its clocks. Stages
of a pipeline are not compared.

## Why it matters
Every step takes as long as its slowest rank: all other GPUs waste that time. Collectives make all steps equally long,
so only the time before them shows which rank is late.

## What to do
Look at that node: CPU load, storage, other jobs, the GPU's clocks and temperature, the number of loader workers, and
work that only this rank does in every step. The report shows how long each rank waits.

Topic: training
"""

from __future__ import annotations

from statistics import median, median_low
from typing import Any, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Tuple

from allranks.core import NOTE, WARN, Finding, Where
from allranks.monitor.hang_thresholds import step_seconds
from allranks.monitor.node_load import remarks
from allranks.monitor.run_state import RunState

SHARE = 0.10
"""Stragglers reported from large clusters were about 10 % slow (published studies of fail-slow training, such as
Greyhound's). A smaller difference is noise."""

SPREADS = 3.0
MAD_TO_SIGMA = 1.4826
"""Converts the median absolute deviation of a normal distribution to its standard deviation."""

ENOUGH_STEPS = 20
LOOKS = 3
EVERY_SECONDS = 10.0
"""Three looks span 20 s: another job's work of a few seconds does not make a straggler."""

NEW_STEPS = 5
"""New steps needed between two looks: the same steps do not prove anything twice."""

LEAST_SECONDS = 0.02
"""A smaller difference is the cost of fetching a ready batch, or of printing a line."""

NAMED = 8


class Pace(NamedTuple):
    """A rank's last steps before their first collective, in seconds: the median, and the value that three quarters of
    them exceed."""

    middle: float
    mostly: float


def detect(run: RunState, now: float) -> Iterator[Finding]:
    memory = run.memory_of("straggler")
    steps = max((r.steps_seen for r in run.ranks.values()), default=0)
    if (
        run.quiet
        or abs(now - memory.get("at", -1e9)) < EVERY_SECONDS
        or steps - memory.get("steps", -9) < NEW_STEPS
    ):
        return
    step, (paces, is_own) = step_seconds(run), _paces(run)
    if step is None or len(paces) < 2:
        return
    memory["at"], memory["steps"] = now, steps
    late = late_places(run, paces, step)
    held: Dict[Tuple[Optional[str], Optional[int]], int] = memory.setdefault("held", {})
    for place in list(held):
        if place not in late:
            del held[place]
    for place in late:
        held[place] = held.get(place, 0) + 1
    known = [place for place in late if held[place] >= LOOKS]
    if known:
        yield from _findings(run, known[:NAMED], paces, step, is_own)


def _paces(run: RunState) -> "Tuple[Dict[int, Pace], bool]":
    """The pace of each rank that has taken enough steps, and whether it is the ranks' own time. Either all values are
    own time, or all are waits for data."""
    living = [r for r in run.ranks.values() if r.alive]
    own = {r.rank: _pace(r.own_seconds) for r in living if len(r.own_seconds) >= ENOUGH_STEPS}
    waits = {r.rank: _pace(r.data_seconds) for r in living if len(r.data_seconds) >= ENOUGH_STEPS}
    return (own, True) if len(own) >= len(waits) and own else (waits, False)


def _pace(seconds: Iterable[float]) -> Pace:
    kept = sorted(list(seconds)[-ENOUGH_STEPS:])
    return Pace(median(kept), kept[len(kept) // 4])


def late_places(
    run: RunState, paces: Dict[int, Pace], step: float
) -> "List[Tuple[Optional[str], Optional[int]]]":
    """The late places: (node, None) for a whole node, (node, rank) for one rank."""
    nodes: Dict[Optional[str], List[int]] = {}
    for number in paces:
        nodes.setdefault(run.rank(number).node, []).append(number)
    # Up to a quarter of a node's ranks may be as fast as others: the node's pace is the one that the rest exceed.
    whole = {
        n: _of_all(paces[r] for r in ranks) for n, ranks in nodes.items() if n is not None and len(ranks) > 1
    }
    late_nodes = _late(whole, step) if len(whole) == len(nodes) > 1 else []
    of_nodes = {rank for node in late_nodes for rank in nodes[node]}
    late: List[Tuple[Optional[str], Optional[int]]] = [(node, None) for node in late_nodes]
    return late + [(run.rank(rank).node, rank) for rank in _late(paces, step) if rank not in of_nodes]


def _of_all(paces: Iterable[Pace]) -> Pace:
    kept = list(paces)
    quarter = len(kept) // 4
    return Pace(sorted(p.middle for p in kept)[quarter], sorted(p.mostly for p in kept)[quarter])


def _late(paces: Mapping[Any, Pace], step: float) -> List[Any]:
    """The keys whose pace is clearly slower than the others'. Empty if more than half are slow: then that is the
    run's own pace. With two paces the faster one is the measure; with two equal halves, the spread of the faster
    half: both are the lower median."""
    middle = median_low([p.middle for p in paces.values()])
    spread = MAD_TO_SIGMA * median_low([abs(p.middle - middle) for p in paces.values()])
    limit = middle + max(SHARE * step, SPREADS * spread, LEAST_SECONDS)
    late = [key for key, pace in paces.items() if pace.mostly > limit]
    return late if len(late) <= max(1, len(paces) // 2) else []


def _findings(
    run: RunState, late: list, paces: Dict[int, Pace], step: float, is_own: bool
) -> Iterator[Finding]:
    middle = median_low([p.middle for p in paces.values()])
    for node, rank in late:
        ranks = [rank] if rank is not None else [r for r in paces if run.rank(r).node == node]
        mine = median([paces[r].middle for r in ranks])
        more = mine - middle
        who = f"rank {rank}" if rank is not None else f"{node} (all but a quarter of its ranks)"
        what = (
            "needs {:.2f} s per step before it meets the others"
            if is_own
            else "waits {:.2f} s per step for its data"
        )
        waits = [median(run.rank(r).data_seconds) for r in ranks if run.rank(r).data_seconds]
        of_it = f", {median(waits):.2f} s of it waiting for data" if is_own and waits else ""
        yield Finding(
            id="straggler",
            verdict=WARN if more > 2 * SHARE * step else NOTE,
            where=Where(node=node, rank=rank),
            saw=f"{who} {what.format(mine)}{of_it}; the median of all ranks is {middle:.2f} s.",
            expected=f"within {SHARE:.0%} of a step ({step:.2f} s) of the others",
            why=f"every step of every rank takes about {more:.2f} s longer for it ({more / step:.0%}).",
            fix=f"look at {node}: CPU, GPU clocks, storage, the loader's workers, work that only one rank does.",
            evidence=tuple(remarks(run, node)),
        )
