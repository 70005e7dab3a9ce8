"""`saving` and `saved`: a save may take minutes, and the rank is not hung then."""

from __future__ import annotations

import os
from typing import Any, Optional, Tuple

from allranks.worker.rank_reporter import Rank

Saving = Tuple[Tuple[str, float], Optional[str]]


def begin(rank: Rank, path: Any) -> Optional[Saving]:
    """A save begins; None where it is a part of one that has begun. `finish` takes what this returns."""
    if rank.is_in("saving") or not rank.is_here:
        return None
    where = None if path is None else os.path.abspath(str(path))[:2000]
    rank.emit("saving", {"step": rank.step, "path": where})
    rank.left_out = False
    return rank.enter("saving"), where


def finish(rank: Rank, saving: Optional[Saving]) -> None:
    """The save ended, well or not: that is for others to look at. One that was left out is not called saved."""
    if saving is not None:
        entered, path = saving
        seconds = rank.leave(entered)
        if not rank.left_out:
            rank.emit("saved", {"step": rank.step, "path": path, "seconds": round(seconds, 3)})
