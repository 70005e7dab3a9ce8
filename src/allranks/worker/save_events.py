"""`saving` and `saved`: a save may take minutes, and the rank is not hung then."""

from __future__ import annotations

import os
import stat
import time
from typing import Any, Callable, Optional, Tuple

from allranks.core.rank_events import Saved, Saving
from allranks.worker import guard
from allranks.worker.rank_reporter import Rank

SAVES_SECONDS = 1.0
"""torch.save and safetensors also write small things, and one file of many: two saves of a loop that are told are at
least this far apart."""

Begun = Tuple[Tuple[str, float], Optional[str]]


def begin(rank: Rank, path: Any) -> Optional[Begun]:
    """A save begins; None if it is a part of one that has begun. `finish` takes what this returns."""
    if rank.is_in("saving") or not rank.is_here:
        return None
    where = None if path is None else in_the_run(os.path.abspath(str(path)))[:2000]
    rank.emit(Saving(step=rank.step, path=where))
    rank.left_out = False
    return rank.enter("saving"), where


def in_the_run(path: str) -> str:
    """The path below the run's output folder as the keeper names it, if the script has resolved a link to it."""
    folder, (parent, name) = os.environ.get("ALLRANKS_OUTPUT_DIR"), os.path.split(path)
    if folder and parent != folder and os.path.realpath(parent) == os.path.realpath(folder):
        return os.path.join(folder, name)
    return path


def finish(rank: Rank, begun: Optional[Begun]) -> None:
    """The save ended, well or not: others look at that. One that was left out is not called saved."""
    if begun is not None:
        entered, path = begun
        seconds = rank.leave(entered)
        if not rank.left_out:
            told = Saved(step=rank.step, path=path, seconds=round(seconds, 3), inode=inode_of(path))
            rank.emit(told)


def inode_of(path: Optional[str]) -> Optional[int]:
    """Many scripts save to a temporary name and rename it: the file is found again by this."""
    try:
        found = None if path is None else os.lstat(path)
    except OSError:
        return None
    return found.st_ino if found is not None and stat.S_ISREG(found.st_mode) else None


def watch(rank: Rank, owner: Any, name: str, before: Callable[[Any, Any], Any]) -> None:
    """Covers a function that saves, if this version has it. `before(args, kwargs)` gives what `begin` returns."""
    original = getattr(owner, name, None)
    if original is not None:
        setattr(owner, name, guard.around(original, before, lambda begun: finish(rank, begun)))


def of_loop(rank: Rank, path_of: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The `before` of a function that a script's own loop saves with. Trainers tell their saves as a whole."""
    last = [0.0]

    def before(args: Any, kwargs: Any) -> Optional[Begun]:
        path, now = path_of(args, kwargs), time.monotonic()
        if rank.owner != "torch" or path is None or now - last[0] < SAVES_SECONDS:
            return None
        last[0] = now
        return begin(rank, path)

    return before
