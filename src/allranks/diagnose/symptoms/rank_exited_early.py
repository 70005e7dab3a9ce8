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

import re
from signal import SIGTERM
from typing import Optional

from allranks.core.causes import END, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.differences import lines_of_its_own
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.leavers import left_alone
from allranks.diagnose.speakers import quiet_rank
from allranks.diagnose.symptom import ECHO, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nccl_remote_process_exited import CAUSE as NCCL_REMOTE_PROCESS_EXITED

CAUSE = Cause(__name__, kind=END, asks_ranks=True, by_comparison=True)
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
    return _by_table(seen) or _by_its_words(seen) or _by_its_last_lines(seen)


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


_DONE = re.compile(
    r"(?i)(?<![a-z])(?:leav(?:es|ing)|finished|stopping|exiting|no more|out of data|exhausted|quitting|bye|done"
    r"|completed?|returning|nothing (?:more |left |else )?to do"
    r"|beendet|abbruch\w{0,20}|fertig"  # German
    r"|termin(?:\u00e9e?|e|ado|ato)|arr\u00eat\w{0,3}|arrete|plus de|fini"  # French, Spanish, Italian
    r"|acabado|no hay m\u00e1s|sin m\u00e1s)(?![a-z])"  # Spanish
    r"|\u7ed3\u675f|\u5b8c\u6210|\u9000\u51fa|\u7d42\u4e86|\u5b8c\u4e86"  # Chinese, Japanese
    r"|\u0437\u0430\u043a\u043e\u043d\u0447|\u0437\u0430\u0432\u0435\u0440\u0448"  # Russian
)
"""The words of a rank that is done, in several languages."""

_OF_A_PART = re.compile(
    r"(?i)\b(?:not (?:yet|done|finished)|init\w{0,14}|thread|pool|load(?:ed|er|ing)|connections?|gpu|memory|cache"
    r"|prefetch\w{0,3}|queue|valid(?:ation)?|eval(?:uation)?|responding|opening|old|warm-?up|download\w{0,3}"
    r"|of \d{1,9} jobs|epoch \d{1,9} (?:is )?(?:done|finished|completed?))\b"
)
"""Then only a part of the work is done."""

_KILLED = re.compile(
    r"(?i)\b(?:codes?|status|returned|rc|signal)\b.{0,40}?(?<![\d.])(?:-[1-9]|1[2-9]\d\b)"
    r"|\bkilled\b|\bterminated\b|\bsigkill\b"
)
"""A launcher's words for a process that did not end by itself."""

LAST_LINES = 3
"""So many last lines of a rank tell that it is done: a wrapper may print its exit code after them."""


def _by_its_last_lines(seen: Evidence) -> Optional[Case]:
    """All others lost a peer, and the one that did not says at last, in words that no other uses, that it is done."""
    hits = [h for h in seen.hits.get(NCCL_REMOTE_PROCESS_EXITED.id, ()) if not seen.survived(h)]
    rank = quiet_rank(seen) if hits else None
    if rank is None or any(e.rank == rank and e.code not in (0, -SIGTERM) for e in seen.exits):
        return None  # a launcher ends a rank so that waits for the others after its last line
    if any(_KILLED.search(line.text) for line in seen.samples.lines(seen.is_single, seen.usual.number)):
        return None
    for line in lines_of_its_own(seen, rank, LAST_LINES):
        if line.source == hits[0].line.source and line.number > hits[0].line.number:
            continue
        if _DONE.search(line.text) is not None and _OF_A_PART.search(line.text) is None:
            first = hits[0]
            told = (Hit(CAUSE.id, ECHO, line, first.order, first.at, first.steps), *hits[:3])
            notes = (f"rank {rank} says this at last, and the others lose their peer",)
            return Case(CAUSE.id, ECHO + 6, told, "likely", rank=rank, notes=notes)
    return None


def _table_read(seen: Evidence, rank: int, listed: "set[int]") -> bool:
    """Whether the table of that rank's node is there: another rank of its node is in it."""
    node = seen.ranks[rank].node if rank in seen.ranks else None
    if node is None:
        return True
    return any(seen.ranks[r].node == node for r in listed if r in seen.ranks)
