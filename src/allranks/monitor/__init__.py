"""Follows a run from its events: its present state, its errors and warnings, and the reason for its end.

Pure: nothing here reads a clock, a file or a process. Times come with the events, in seconds on the head's clock. Only
the standard library, Python 3.8 and up.
"""

from allranks.monitor import event_handlers, start_patience
from allranks.monitor.catalogue import ids, page, rules
from allranks.monitor.progress import Progress, RankProgress, progress
from allranks.monitor.rank_comparison import ANSWER_SECONDS
from allranks.monitor.run_monitor import Watch
from allranks.monitor.run_state import NodeState, RankState, RunState

__all__ = [
    "ANSWER_SECONDS",
    "NodeState",
    "Progress",
    "RankProgress",
    "RankState",
    "RunState",
    "Watch",
    "event_handlers",
    "ids",
    "page",
    "progress",
    "rules",
    "start_patience",
]
