"""Events in, statements out: what a run does now, what is wrong with it, why it ended.

Pure: nothing here reads a clock, a file or a process; times come with the events, in seconds on the
head's clock. Standard library alone, Python 3.8 and up.
"""

from allranks.watch import looking
from allranks.watch.catalogue import ids, page, rules
from allranks.watch.detectors.rank_holds_up import ANSWER_SECONDS
from allranks.watch.follow import Watch
from allranks.watch.progress import Progress, RankProgress, progress
from allranks.watch.state import NodeState, RankState, RunState

__all__ = [
    "ANSWER_SECONDS",
    "NodeState",
    "Progress",
    "RankProgress",
    "RankState",
    "RunState",
    "Watch",
    "ids",
    "looking",
    "page",
    "progress",
    "rules",
]
