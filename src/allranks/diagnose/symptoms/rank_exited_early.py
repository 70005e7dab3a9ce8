"""A rank left with exit code 0 before the others.

## How it is found
In logs: the others report `Connection closed by peer` or a time-out. The guilty rank prints no traceback, and
torchrun's table of failures does not list it, because its exit code is 0. Or it says before that that it is done, in
words of its own (`rank 2: no more shards, leaving`).

While a run is watched: a rank ended with 0 before the last step, or it is gone and its torchrun reports no failure.
Most ranks are left (half of them, if their stacks show that they wait), and none has moved for longer than the run's
pace allows. That is a warning. If the stacks of all others show a collective for a minute, allranks stops the run. If
more than half of the ranks are done, it warns after one minute and stops the run after two.

Easily confused with rank-crashed-first, which prints a traceback; collective-timeout-straggler, where the
rank still lived and got SIGTERM.

## Why it matters
A rank that returns, calls sys.exit or runs out of batches leaves the others waiting in a collective. Under gloo they
lose their peer at once; under NCCL they wait until a time-out of 10 minutes or more, and then blame each other.

## What to do
Look for sys.exit, return, break or an exhausted data loader on that rank alone (drop_last, uneven shards;
Join for DDP), and for a signal handler that exits.

## Source
Gloo prints `Connection closed by peer` in `gloo/transport/tcp/pair.cc`. While a run is watched: the exit
codes that supervisors report, and the stacks of the ranks.

Topic: ends
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import END, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.leavers import left_alone
from allranks.diagnose.symptom import ECHO, Case, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nccl_remote_process_exited import CAUSE as NCCL_REMOTE_PROCESS_EXITED

CAUSE = Cause(__name__, kind=END, asks_ranks=True)
COMPLAINT = Complaint(
    subject=(
        r"(?i)^(?=.{0,400}\b(?:ranks?|workers?|gpus?|process(?:es)?|nodes?|trainers?)\b).{0,400}?(?:\b(?:runs?"
        r"|ran) out of (?:data"
        r"|batches|samples)|\bexhaust\w{0,3} (?:its |the |their )?(?:data|shards?|iterator|dataset)"
        r"|\b(?:uneven|unequal|imbalanced) (?:number of )?(?:inputs?|batches|data|steps|samples)"
        r"|\bmore batches than\b|\b(?:left|leaves|exits?) (?:the )?training loop|\bcode 0\b.{0,60}\bothers?\b)"
    ),
)
PATTERNS = (
    Pattern("exiting early", weight=ECHO),
    Pattern("exited with code", r"\bexited with code 0 (?:early|before|while)", weight=ECHO),
)


def judge(seen: Evidence) -> Optional[Case]:
    return _by_table(seen) or _by_its_words(seen)


def _by_table(seen: Evidence) -> Optional[Case]:
    """A rank that is known, is silent, and is in no table although its node's table was read. mpirun and mp.spawn
    report only the first process that failed, so their reports do not count."""
    blamers = seen.blamers()
    listed = {e.rank for e in seen.exits if e.rank is not None and e.pid is not None}
    if not blamers or not listed or not any(e.code == 1 for e in seen.exits):
        return None
    gone = [r for r in seen.silent() if r not in listed and _table_read(seen, r, listed)]
    if not gone or len(gone) > max(1, len(seen.world) // 4) or seen.still_lived():
        return None
    hits = [
        h
        for s in (NCCL_REMOTE_PROCESS_EXITED.id, COLLECTIVE_TIMEOUT_STRAGGLER.id)
        for h in seen.hits.get(s, ())
    ]
    if not hits:
        return None
    notes = [
        f"rank {gone[0]} is not in torchrun's table of failures and reports no error: it left with exit code 0"
    ]
    known = seen.ranks.get(gone[0])
    if known is not None and known.last_plain is not None:
        notes.append(f"the last it said: {known.last_plain.text[:160]}")
    return Case("rank-exited-early", ECHO + 6, tuple(hits[:4]), "likely", rank=gone[0], notes=tuple(notes))


def _by_its_words(seen: Evidence) -> Optional[Case]:
    left = left_alone(seen, seen.hits.get(NCCL_REMOTE_PROCESS_EXITED.id, ()))
    if left is None or left.gave_up or left.rank in {e.rank for e in seen.exits if e.code}:
        return None
    return left.case(CAUSE.id, "that it leaves")


def _table_read(seen: Evidence, rank: int, listed: "set[int]") -> bool:
    """Whether the table of that rank's node is there: another rank of its node is in it."""
    node = seen.ranks[rank].node if rank in seen.ranks else None
    if node is None:
        return True
    return any(seen.ranks[r].node == node for r in listed if r in seen.ranks)
