"""Checkpoints on disk: whether one is whole, which is the newest that is, and what may be removed.

`verify` judges one folder, `find` and `newest_verified` a run's output folder, `prune` removes what
neither resuming nor using needs, `space` says whether the next save fits. Standard library alone; nothing
is ever unpickled.
"""

from allranks.checkpoints.catalogue import CATALOGUE
from allranks.checkpoints.find import find, newest_verified, step_of
from allranks.checkpoints.outcome import Report
from allranks.checkpoints.prune import PruneReport, mark, prune
from allranks.checkpoints.space import space
from allranks.checkpoints.verify import verify

__all__ = [
    "CATALOGUE",
    "PruneReport",
    "Report",
    "find",
    "mark",
    "newest_verified",
    "prune",
    "space",
    "step_of",
    "verify",
]
