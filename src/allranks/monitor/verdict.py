"""Why a run ended: which rank, which node, from what all nodes' events say together.

The order of suspicion is that of the signatures' rules: an exception that is no communication error, then a
death by a signal that nobody of ours sent, then a lost node, then an early exit, then whoever is silent among
ranks that only blame each other. torchrun's own "root cause" is never trusted: each node prints another one.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Optional, Sequence, Tuple

from allranks.core import Diagnosis, Finding
from allranks.core.causes import UNPROVEN
from allranks.diagnose.catalogue import cause
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.rank_crashed_first import CAUSE as RANK_CRASHED_FIRST
from allranks.diagnose.symptoms.rank_exited_early import CAUSE as RANK_EXITED_EARLY
from allranks.diagnose.symptoms.torchelastic_signal import CAUSE as TORCHELASTIC_SIGNAL
from allranks.monitor.culprit import (
    LATE_SECONDS,
    NO_EXCEPTION,
    by_communication,
    by_exception,
    by_exit_code,
    by_stall,
    one_line,
    unproven,
)
from allranks.monitor.early_exit import by_early_exit
from allranks.monitor.head_isolation import cut_off
from allranks.monitor.kernel_log import judged
from allranks.monitor.killed_ranks import by_signal
from allranks.monitor.killed_torchrun import by_torchrun
from allranks.monitor.log_attribution import (
    Logs,
    aborted_waiting,
    join,
    logs_read,
    read_all,
    read_culprit,
    read_node,
    says_why,
)
from allranks.monitor.lost_nodes import by_node, gone_before
from allranks.monitor.run_state import RunState


def verdict(run: RunState, logs: Logs, now: float) -> Optional[Diagnosis]:
    """The one statement about a run that went wrong, None where nothing did."""
    who, settled = _who(run, logs)
    if who is None and not any(node.ended_code for node in run.nodes.values()):
        return None
    found = _placed(judged(run, with_cause(run, logs, who, settled) or unproven(run)))
    told = settled or (found.cause != UNPROVEN and len(found.evidence) > 1)
    return found if told else _with_last_words(found, run, logs)


def _placed(found: Diagnosis) -> Diagnosis:
    """Of a connection one end's log tells that it failed: which end, the cable or the switch it does not."""
    certain = cause(found.cause).of_one_end and found.confidence == "certain"
    return replace(found, confidence="likely") if certain else found


def _with_last_words(found: Diagnosis, run: RunState, logs: Logs) -> Diagnosis:
    """Where no event and no symptom says why, the end of the culprit's own log is all there is to go by: the rank's,
    or of a node whose torchrun failed and names no rank in its table, torchrun's."""
    rank, on = found.where.rank, run.nodes.get(found.where.node or "")
    for (node, who, name), lines in logs.items():
        alone = on is not None and not on.failures and node == on.name
        torchruns = alone and name.endswith("torchrun.log")
        said = [one_line(line) for line in lines if line.strip()]
        if said and who == rank and (rank is not None or torchruns):
            return _worded(found, said)
    return found


REFUSED = re.compile(r"^\S{1,200}: error: |: can't open file ")
"""argparse's and Python's own last line, after which a program ends with 2."""


def _worded(found: Diagnosis, said: Sequence[str]) -> Diagnosis:
    """With the last lines of the culprit's log; what refused the command line comes first."""
    found = replace(found, evidence=(*found.evidence, *said[-3:]))
    told = next((line for line in reversed(said[-8:]) if REFUSED.search(line)), None)
    if told is None or not found.evidence[0].endswith(NO_EXCEPTION):
        return found
    return replace(
        found,
        evidence=(found.evidence[0][: -len(NO_EXCEPTION)] + f": {told}", *found.evidence[1:]),
        fix="correct train.command: the script's path and its arguments.",
    )


def _ends_the_wait(killed: Diagnosis, stalled: Diagnosis) -> bool:
    """Whether another rank than the one that was waited for was killed: no wait ends by SIGKILL."""
    where = killed.where
    return cause(killed.cause).by_kill and where.node is not None and where.rank != stalled.where.rank


def _who(run: RunState, logs: Logs) -> Tuple[Optional[Diagnosis], bool]:
    """Who it was, and whether the events alone prove it. Of an exception and a kill, the earlier one; a node that was
    silent before both of them comes first."""
    waited = aborted_waiting(run, logs)
    killed = by_torchrun(run, logs) or by_signal(run, waited, logs_read(logs))
    stalled = by_stall(run)
    if stalled is not None and killed is not None and _ends_the_wait(killed, stalled):
        return replace(killed, evidence=(*killed.evidence, *stalled.evidence[:1])), True
    first = stalled or (by_node(run) if gone_before(run) or cut_off(run, run.now) else None)
    if first is not None:
        return first, True
    raised = by_exception(run)
    if raised is not None and killed is not None:
        earlier = (killed.first_seen or 0.0) < (raised.first_seen or 0.0) - LATE_SECONDS
        return (killed if earlier and killed.where.rank != raised.where.rank else raised), True
    found = raised or killed or by_node(run)
    if found is not None:
        return found, True
    return by_early_exit(run) or by_exit_code(run) or by_communication(run, waited), False


def with_cause(run: RunState, logs: Logs, who: Optional[Diagnosis], settled: bool) -> Optional[Diagnosis]:
    """The events' statement with the cause that the culprit's own text, else all text, names.

    The text of another rank counts only where the events name no crash: after one, every rank says something.
    """
    culprit = run.ranks.get(who.where.rank) if who is not None and who.where.rank is not None else None
    if culprit is not None and (settled or not culprit.exceptions):
        why = read_culprit(run, logs, culprit)
        if says_why(why):
            return join(who, why)
    if settled:
        why = (
            read_node(logs, who.where.node)
            if who is not None and who.cause == TORCHELASTIC_SIGNAL.id
            else None
        )
        return join(who, why) if why is not None and says_why(why) else who
    why = read_all(run, logs)
    if who is None:
        return why if why.cause != UNPROVEN and not cause(why.cause).healthy else None
    if says_why(why):
        placed = why.where.rank is not None or (
            cause(why.cause).kernel is not None and why.where.node is not None
        )
        return why if placed or who.cause == UNPROVEN else join(who, why)
    if who.cause == UNPROVEN and why.cause == COLLECTIVE_TIMEOUT_STRAGGLER.id and why.where.rank is not None:
        return why  # all blame each other, and their logs' numbers tell who came last
    if (
        why.cause == RANK_CRASHED_FIRST.id
        and why.where.rank is not None
        and who.cause != RANK_EXITED_EARLY.id
    ):
        return why
    return who


def of_finding(run: RunState, finding: Finding) -> Diagnosis:
    """A finding that stopped the run, as its verdict."""
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
    """Where the judgement itself failed: what stopped the run, else nothing, and the fault."""
    found = of_finding(run, blocking[0]) if blocking else unproven(run)
    return replace(
        found,
        evidence=(*found.evidence, one_line(f"the judgement of this run failed: {fault}")),
        fix=f"{found.fix} A fault of allranks: report it with the run's journal.",
    )
