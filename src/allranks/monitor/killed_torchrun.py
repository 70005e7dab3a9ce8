"""Finds out whether a signal ended a node's torchrun: its ranks end with it, and no table names any of them.

Its exit code shows a SIGKILL. torchrun passes SIGTERM, SIGHUP and SIGINT on to its ranks, logs that and ends with 1.
"""

from __future__ import annotations

import re
import signal
from typing import List, Mapping, NamedTuple, Optional, Sequence, Tuple

from allranks.core import Diagnosis, Where
from allranks.diagnose.lines import clean
from allranks.diagnose.symptoms.cpu_oom_killed import CAUSE as CPU_OOM_KILLED
from allranks.diagnose.symptoms.torchelastic_signal import CAUSE as TORCHELASTIC_SIGNAL
from allranks.monitor.culprit import LATE_SECONDS, collateral
from allranks.monitor.killed_ranks import WISHES, Ends, signal_name, was_stopped
from allranks.monitor.run_state import NodeState, RunState

Logs = Mapping[Tuple[Optional[str], Optional[int], str], Sequence[str]]

TOLD = re.compile(r"Received (?:Signals\.)?(\w{1,20}) death signal|Process \d{1,12} got signal: (\d{1,3})\b")


class _End(NamedTuple):
    node: NodeState
    at: float
    what: str


def by_torchrun(run: RunState, logs: Logs) -> Optional[Diagnosis]:
    """The diagnosis of the first torchrun that ended by a signal which allranks did not send."""
    ends = [
        end for end in (_killed(run, node) or _told(run, node, logs) for node in run.nodes.values()) if end
    ]
    known = Ends(run)
    ends = [end for end in ends if not known.went_wrong_elsewhere(end.node.name, end.at)]
    if not ends:
        return None
    first = min(ends, key=lambda end: (end.at, end.node.name))
    starved = _out_of_memory(first)
    name = first.node.name
    return Diagnosis(
        cause=CPU_OOM_KILLED.id if starved else TORCHELASTIC_SIGNAL.id,
        confidence="likely" if starved else "certain",
        where=Where(node=name),
        first_seen=first.at,
        evidence=(f"{first.what}, which allranks did not send", *starved),
        collateral=collateral(run, []),
        why="the kernel ended it: the machine, or its control group, was out of memory."
        if starved
        else "a torchrun ends with its ranks; those on the other nodes only lost their peers. The sender of the "
        "signal is unknown: the kernel's OOM killer, earlyoom, a scheduler or a person.",
        fix=f"on {name}: free memory, fewer data loader workers, a higher limit of the container or job."
        if starved
        else f"on {name}: dmesg -T | grep -i -e oom -e killed, the scheduler's log, and who ran kill there.",
    )


def _killed(run: RunState, node: NodeState) -> Optional[_End]:
    """The end by SIGKILL, by the exit code. None if one of its ranks had failed before, or if allranks stopped it."""
    at, code = node.ended_at, node.ended_code or 0
    if at is None or code >= 0 or was_stopped(run, node, at):
        return None
    if any(r.node == node.name and _failed_by(r.ended_at, r.code, at) for r in run.ranks.values()):
        return None
    return _End(node, at, f"torchrun on {node.name} was killed by {signal_name(-code)}")


def _failed_by(ended: Optional[float], code: Optional[int], at: float) -> bool:
    return ended is not None and code != 0 and ended <= at + LATE_SECONDS


def _told(run: RunState, node: NodeState, logs: Logs) -> Optional[_End]:
    """The end that its own log reports, if it came before allranks stopped the node, the log names no rank, and the
    ranks ended by the same signal."""
    at = node.ended_at
    if at is None or (node.ended_code or 0) <= 0 or node.failures or was_stopped(run, node, at):
        return None
    ranks = [r for r in run.ranks.values() if r.node == node.name and r.ended_at is not None]
    if any(r.code not in (None, *(-number for number in WISHES)) for r in ranks):
        return None
    said = [found for line in _log(logs, node.name) for found in [TOLD.search(line)] if found]
    if not said:
        return None
    began = min([r.ended_at for r in ranks if r.ended_at is not None and r.ended_at <= at], default=at)
    word = said[0].group(1) or said[0].group(2)
    name = signal_name(int(word)) if word.isdigit() else word
    return _End(node, began, f"torchrun on {node.name} was told to end by {clean(name)}")


def _log(logs: Logs, name: str) -> List[str]:
    return [
        line
        for (node, rank, source), lines in logs.items()
        if node == name and rank is None and source.endswith("torchrun.log")
        for line in lines
    ]


def _out_of_memory(end: _End) -> List[str]:
    """The kernel's lines about memory, if its log was read after torchrun's SIGKILL."""
    node = end.node
    if node.ended_code != -signal.SIGKILL or node.kernel_at is None or node.kernel_at < end.at - LATE_SECONDS:
        return []
    return [f"kernel: {clean(line)}" for line in node.kernel if CPU_OOM_KILLED.tells(line)][-3:]
