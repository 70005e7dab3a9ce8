"""Folds what many ranks report into one statement: if more than a few report the same, it is one fact."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Optional, Sequence, TypeVar

from allranks.core import Where
from allranks.core.text import spans
from allranks.monitor.run_state import RankState

FEW = 3
"""Up to this many ranks, or GPUs of a node, get a statement each; more of them share one."""

One = TypeVar("One")


def grouped(ranks: Iterable[RankState]) -> List[List[RankState]]:
    """Groups of ranks, one group per statement: each rank alone, or all ranks together."""
    return apart(sorted(ranks, key=lambda rank: rank.rank))


def apart(known: List[One]) -> List[List[One]]:
    """Each item alone, or all items together if there are more than `FEW`. Keeps the given order."""
    return [[one] for one in known] if len(known) <= FEW else [known]


def gpus_named(names: Sequence[str]) -> str:
    """`GPU A`, or `8 GPUs (A, B, …)`: the GPUs of one node. `names` come from `gpu_name`."""
    return f"GPU {names[0]}" if len(names) == 1 else f"{len(names)} GPUs ({', '.join(names[:2])}, …)"


def where_of(ranks: Sequence[RankState]) -> Where:
    """The place of one rank; for several ranks, the node if they share it."""
    nodes = {rank.node for rank in ranks}
    return Where(
        node=ranks[0].node if len(nodes) == 1 else None, rank=ranks[0].rank if len(ranks) == 1 else None
    )


def numbers(ranks: Iterable[RankState]) -> str:
    """The ranks' numbers as text: `0-5, 8`."""
    return spans(rank.rank for rank in ranks).replace(",", ", ")


def on(ranks: Sequence[RankState]) -> str:
    """` on 24 ranks (0-23)`, for a sentence; empty for one rank, whose place is shown beside it."""
    return f" on {len(ranks)} ranks ({numbers(ranks)})" if len(ranks) > 1 else ""


def gathered(memory: Dict[Any, Any], holds: bool, now: float, seconds: float) -> bool:
    """Whether `holds` has been true for `seconds`, so that all ranks concerned have had time to report it. `memory`
    belongs to the detector."""
    since: Optional[float] = memory.get("since") if holds else None
    if since is None or now < since:
        since = now
    memory["since"] = since if holds else None
    return holds and now - since >= seconds
