"""Finds why a run ended, and which rank and node are guilty, from the events of all nodes together.

Events and texts are weighed on one scale (`diagnose/symptom.py`), and the heaviest counts. The order is: the state of
all ranks at a stall; a node that was silent before all errors; an exception that is not about communication, or a
signal that allranks did not send; a lost node; then the logs, an early exit, and the silent rank among ranks that
only blame each other. torchrun's own "root cause" is never trusted: each node prints another one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Iterator, List, Optional, Sequence, Tuple

from allranks.core import Diagnosis, Finding
from allranks.core.causes import UNPROVEN
from allranks.diagnose import Signal, Texts, cause, ranked
from allranks.diagnose.lines import clean
from allranks.diagnose.symptom import ECHO, GONE, LEFT, LOST, SEEN, WITNESSED
from allranks.monitor.culprit import (
    LATE_SECONDS,
    NO_EXCEPTION,
    RANK_WAS_IN,
    by_communication,
    by_exception,
    by_exit_code,
    by_stall,
    file_beside,
    unproven,
)
from allranks.monitor.detectors.rank_silent import GOES_ON
from allranks.monitor.early_exit import by_early_exit
from allranks.monitor.head_isolation import cut_off
from allranks.monitor.kernel_log import judged
from allranks.monitor.killed_ranks import by_signal
from allranks.monitor.killed_torchrun import by_torchrun
from allranks.monitor.log_attribution import (
    Logs,
    aborted_waiting,
    logs_read,
    read_all,
    read_culprit,
    read_node,
)
from allranks.monitor.lost_nodes import by_node, gone_before, lease_came_first
from allranks.monitor.run_state import RunState
from allranks.monitor.size_mismatch import by_size


def verdict(run: RunState, logs: Logs, now: float) -> Optional[Diagnosis]:
    """The diagnosis of a failed run; None if nothing failed."""
    events = of_events(run, logs)
    if not events and not any(node.ended_code for node in run.nodes.values()):
        return None
    found = ranked(events, _texts(run, logs)).diagnosis
    if not events and (found.cause == UNPROVEN or cause(found.cause).healthy):
        found = unproven(run)
    found = _in_folder(run, _placed(judged(run, found)))
    proven = any(one.proven for one in events)
    told = proven or (found.cause != UNPROVEN and len(found.evidence) > 1)
    return _headline(found, found.evidence) if told else _with_last_words(found, run, logs)


def _placed(found: Diagnosis) -> Diagnosis:
    """Lowers the confidence if the log of only one end shows a failed connection: the end, a cable or a switch may be
    the reason."""
    certain = cause(found.cause).of_one_end and found.confidence == "certain"
    return replace(found, confidence="likely") if certain else found


def _in_folder(run: RunState, found: Diagnosis) -> Diagnosis:
    """Names the folder that the rank was in if it found no file of a relative path. A cause that the texts show knows
    no folder, and looks for the reason on other nodes."""
    culprit = None if found.where.rank is None else run.ranks.get(found.where.rank)
    folder = next((e.payload.folder for e in culprit.exceptions if e.payload.folder), "") if culprit else ""
    if not folder or cause(found.cause).healthy or found.fix.startswith(RANK_WAS_IN):
        return found
    return replace(
        found,
        why="the path is relative: it begins in the folder that the rank was in.",
        fix=f"{file_beside(folder)} {found.fix}",
    )


def after_the_end(run: RunState, found: Diagnosis) -> Diagnosis:
    """Removes advice to continue a process that has ended."""
    where = found.where
    meant = [
        r for r in run.ranks.values() if where.rank == r.rank or (where.rank is None and where.node == r.node)
    ]
    return found if any(r.alive for r in meant) else replace(found, fix=GOES_ON.sub("", found.fix))


def _with_last_words(found: Diagnosis, run: RunState, logs: Logs) -> Diagnosis:
    """Adds the end of the guilty rank's log if no event and no symptom shows the cause; or the end of torchrun's log,
    if that failed and names no rank."""
    rank, on = found.where.rank, run.nodes.get(found.where.node or "")
    for (node, who, name), lines in logs.items():
        alone = on is not None and not on.failures and node == on.name
        torchruns = alone and name.endswith("torchrun.log")
        said = [clean(line) for line in lines if line.strip()]
        if said and who == rank and (rank is not None or torchruns):
            return _worded(found, said)
    return found


REFUSED = re.compile(r"^\S{1,200}: error: |: can't open file ")
"""The last line of argparse and Python before a program ends with 2."""

PLACE = re.compile(r"^\S{1,200} rank \d{1,9}: ")
"""The prefix of a line in a diagnosis' evidence."""


def _worded(found: Diagnosis, said: Sequence[str]) -> Diagnosis:
    """Adds the last lines of the guilty rank's log. An error about the command line comes first."""
    told = _headline(replace(found, evidence=(*found.evidence, *said[-3:])), said[-8:])
    if told.evidence[0] == found.evidence[0]:
        return told
    return replace(told, fix="correct train.command: the script's path and its arguments.")


def _headline(found: Diagnosis, said: Sequence[str]) -> Diagnosis:
    """Puts an error about the command line in place of "no exception was heard"."""
    bare = (PLACE.sub("", line) for line in reversed(said))
    told = next((line for line in bare if REFUSED.search(line)), None)
    if told is None or not found.evidence or not found.evidence[0].endswith(NO_EXCEPTION):
        return found
    return replace(
        found, evidence=(found.evidence[0][: -len(NO_EXCEPTION)] + f": {told}", *found.evidence[1:])
    )


def _ends_the_wait(killed: Diagnosis, stalled: Diagnosis) -> bool:
    """Whether the killed rank is not the one that held up the others: a wait does not end by SIGKILL."""
    where = killed.where
    return cause(killed.cause).by_kill and where.node is not None and where.rank != stalled.where.rank


def of_events(run: RunState, logs: Logs) -> List[Signal]:
    """The signals of the events. If one rank raised an exception and another was killed, the earlier one counts;
    within `LATE_SECONDS`, since the nodes' clocks differ, the exception counts."""
    waited = aborted_waiting(run, logs)
    killed = by_torchrun(run, logs) or by_signal(run, waited, logs_read(logs))
    stalled, raised = by_stall(run), by_exception(run)
    said: List[Tuple[int, Optional[Diagnosis]]] = [(WITNESSED, stalled), (SEEN, raised)]
    said.append((SEEN, by_size(run, logs)))
    if stalled is not None and killed is not None and _ends_the_wait(killed, stalled):
        said.append((WITNESSED + 1, replace(killed, evidence=(*killed.evidence, *stalled.evidence[:1]))))
    if killed is not None and (raised is None or killed.where.rank != raised.where.rank):
        said.append((SEEN, killed))
    gone = gone_before(run) or cut_off(run, run.now) or lease_came_first(run)
    said.append((GONE if gone else LOST, by_node(run)))
    if not any(found for _, found in said):
        said = [(LEFT, by_early_exit(run)), (ECHO + 5, by_exit_code(run))]
        said.append((ECHO + 2, by_communication(run, waited)))
    return [Signal(0 if d.cause == UNPROVEN else w, d, _moment(d, d is raised)) for w, d in said if d]


def _moment(found: Diagnosis, is_exception: bool) -> float:
    return (found.first_seen or 0.0) + (0.0 if is_exception else LATE_SECONDS)


def _texts(run: RunState, logs: Logs) -> Texts:
    """The logs, exceptions and kernel logs of the run, for the ranking."""

    def of_place(who: Signal) -> Iterator[Signal]:
        where = who.diagnosis.where
        culprit = None if where.rank is None else run.ranks.get(where.rank)
        if culprit is not None and (who.proven or not culprit.exceptions):
            yield read_culprit(run, logs, culprit)
        if who.proven and cause(who.diagnosis.cause).reason_on_node:
            yield read_node(logs, where.node)

    return Texts(lambda: read_all(run, logs), of_place)


def of_finding(run: RunState, finding: Finding) -> Diagnosis:
    """The verdict of a run that a finding stopped."""
    return Diagnosis(
        cause=finding.id,
        confidence="likely",
        where=finding.where,
        first_seen=run.at,
        evidence=tuple(dict.fromkeys((finding.saw, *finding.evidence))),
        collateral=(),
        why=finding.why,
        fix=finding.fix,
    )


def failed(run: RunState, blocking: Sequence[Finding], fault: str) -> Diagnosis:
    """The verdict if the judgement itself raised: the finding that stopped the run, if there is one, and the error."""
    found = of_finding(run, blocking[0]) if blocking else unproven(run)
    return replace(
        found,
        evidence=(*found.evidence, clean(f"the judgement of this run failed: {fault}")),
        fix=f"{found.fix} A bug in allranks: report it with the run's journal.",
    )
