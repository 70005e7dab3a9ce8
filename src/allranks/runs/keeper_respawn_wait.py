"""The wait before a restart, in which nodes are lost and come back: who trains after it is judged at its end."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Callable, List, Optional, Tuple

from allranks.runs.keeper_restart import hindrance
from allranks.runs.keeper_spares import Swap, seconds_until_alone
from allranks.runs.keeper_stop_request import STOP_MARGIN_SECONDS

if TYPE_CHECKING:
    from allranks.runs.keeper import Keeper


def places_now(keeper: "Keeper") -> Tuple[List[Swap], List[str]]:
    """Who would take whose place, and the nodes that are not there, or not swept, and have no spare."""
    missing = [n for n in keeper.places.at if n in keeper.lost or n not in keeper.record.swept]
    swaps = keeper.places.swaps(missing, set(keeper.joined) - keeper.lost, keeper.lost)
    return swaps, [node for node in missing if node not in {swap.node for swap in swaps}]


def settle(
    keeper: "Keeper", swaps: List[Swap], seconds: float, wait: Callable[[float], None]
) -> Optional[List[Swap]]:
    """Who takes whose place when `seconds` are over, and the lease of each node that is left out; None where the run
    cannot start again, or was asked to stop. `swaps` is what was said before.

    A spare that is lost meanwhile takes no place. A node that is heard again was told to stop when it joined, and gets
    the time of a stop to say that nothing is left there.
    """
    returned = False
    while True:
        gone = {swap.node for swap in swaps} & keeper.lost
        wait(max(seconds, seconds_until_alone(gone, keeper.watch.run.nodes, keeper.job, time.time())))
        if keeper.stop_why == "asked":
            return None
        before, (swaps, alone) = swaps, places_now(keeper)
        if set(alone) - keeper.lost and not returned:
            returned, seconds = True, float(keeper.job["grace_seconds"]) + STOP_MARGIN_SECONDS
            continue
        why = hindrance(alone, keeper.places.unable(swaps))
        if why:
            keeper.record.note("restart", {"again": False, "why": why})
            return None
        if swaps == before:
            return swaps
        moves = ", ".join(f"{swap.by} takes the place of {swap.node}" for swap in swaps)
        why = f"while it waited nodes were lost or came back: {moves or 'all keep their places'}"
        keeper.record.note("restart", {"again": True, "why": why})
        seconds = 0.0
