"""One rank holds up the others

## What is seen
At a stall the stacks, the collectives and the processes of all ranks were read and compared. All ranks but one
wait in the same collective; this one is stopped, waits for storage or its data, is in other code, or in another
collective.

## Why it matters
This is the rank to look at. A time-out of torch ends the run 10 to 30 minutes later, and its message names the
ranks that waited.

## What to do
Look at the line that is named. Another collective or another number: the code takes another path on that rank (a
collective under `if rank == 0`, an uneven number of batches). Its data: the loader's workers and the storage below
them. Stopped: kill -CONT. A run that cannot go on (another collective) is stopped at once, any other after ten
minutes without a move.
"""

from __future__ import annotations

from typing import Iterator

from allranks.watch import looking
from allranks.watch.compare import Odd, odd_one
from allranks.watch.pace import step_seconds
from allranks.watch.state import RunState
from allranks.words import BLOCK, WARN, Finding, Where

ANSWER_SECONDS = 8.0
"""A beat until the question is seen, 2.5 s until py-spy is tried, 5 s for it, less what overlaps."""

EACH_TIME = True
BLOCK_SECONDS = 600.0
"""NCCL's own default time-out: torch itself would end the run then, without a name."""

FIXES = {
    "op-build-waits": "on {node}: allranks check names the file `lock`; where no process has it open, remove it.",
    "rank-silent": "see who stopped it (a debugger, kill -STOP, a scheduler); kill -CONT {pid} goes on.",
    "nfs-stale-or-io-error": "look at the file system that it reads or writes, and at dmesg, on {node}.",
    "collective-mismatch": "make every rank take the same path there: no collective under a rank's own condition.",
    "collective-timeout-straggler": "look at that line on {node}; its whole stack is in stacks/rank-{rank}.txt.",
}


def look(run: RunState, now: float) -> Iterator[Finding]:
    asked, in_silence = looking.question(run)
    if asked is None or run.quiet or now < run.paused_until:
        return
    living = [r for r in run.ranks.values() if r.alive]
    if any((r.moved_at or 0.0) > asked for r in living):
        return  # it goes on: there is nothing to name any more
    if len(run.stacks) < len(living) and now - asked < ANSWER_SECONDS:
        return
    odd = odd_one(run)
    if odd is None or odd.rank not in run.ranks or (in_silence and not looking.proves(run, odd)):
        return
    finding = _finding(run, odd, now)
    run.held_up = (now, odd, finding)
    yield finding


def _finding(run: RunState, odd: Odd, now: float) -> Finding:
    rank = run.ranks[odd.rank]
    moved = max((r.moved_at or 0.0 for r in run.ranks.values()), default=now)
    hopeless = odd.cause == "collective-mismatch" and odd.proven
    fix = FIXES[odd.cause].format(
        node=rank.node, rank=odd.rank, pid=run.looks.get(odd.rank, {}).get("pid", "PID")
    )
    return Finding(
        id="rank-holds-up",
        verdict=BLOCK if hopeless or (_steady(run) and now - moved > BLOCK_SECONDS) else WARN,
        where=Where(
            node=rank.node,
            rank=odd.rank,
            file=odd.frame[0] if odd.frame else None,
            line=odd.frame[1] if odd.frame else None,
        ),
        saw=f"rank {odd.rank} on {rank.node} holds up the others: {odd.reason}.",
        expected="all ranks in the same collective",
        why="every other rank waits for it; torch's own time-out would name the ones that wait.",
        fix=fix,
        evidence=odd.evidence,
    )


def _steady(run: RunState) -> bool:
    """Whether all train at a known pace: a load, a save or an evaluation may honestly take longer than that."""
    return step_seconds(run) is not None and all(r.phase == "training" for r in run.ranks.values() if r.alive)


_WAIT = [
    ["/u/train.py", 30, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 9, "all_reduce"],
]
_SLEEP = [["/u/train.py", 30, "<module>"], ["/u/data.py", 7, "fetch"]]
_OTHER = [
    ["/u/train.py", 44, "<module>"],
    ["/x/site-packages/torch/distributed/distributed_c10d.py", 5, "broadcast"],
]


_LOCK = [
    ["/u/train.py", 3, "<module>"],
    ["/x/site-packages/torch/utils/cpp_extension.py", 2400, "_jit_compile"],
    ["/x/site-packages/torch/utils/file_baton.py", 51, "wait"],
]


def _run(*stacks: object, asked: bool = True, states: str = "") -> list:
    events: list = [
        {"at": 1.0, "kind": "start", "node": "a", "rank": n, "data": {"pid": n + 9, "start_time": n}}
        for n in range(len(stacks))
    ]
    if asked:
        events.append({"at": 3.0, "kind": "evidence", "node": "a", "data": {"why": "no-progress"}})
    for n, state in enumerate(states):
        data = {"pid": n + 9, "state": state, "wchan": None}
        events.append({"at": 3.5, "kind": "process", "node": "a", "rank": n, "data": data})
    for n, frames in enumerate(stacks):
        data = {"frames": frames, "by": "inside"}
        events.append({"at": 4.0, "kind": "stack", "node": "a", "rank": n, "data": data})
    return events


FIRES = [
    {"events": _run(_WAIT, _SLEEP, _WAIT), "now": 6.0},
    {"events": _run(_WAIT, _WAIT, _OTHER), "now": 6.0},
    {"events": _run(_WAIT, None, _WAIT, states="STS"), "now": 14.0},
    {"events": _run(_WAIT, _SLEEP), "now": 6.0},
    {"events": _run(_LOCK, _LOCK, _LOCK), "now": 6.0},
]
SILENT = [
    {"events": _run(_WAIT, _WAIT, _WAIT), "now": 20.0},
    {"events": _run(_WAIT, _OTHER), "now": 20.0},
    {"events": _run(_WAIT, _SLEEP, _WAIT, asked=False), "now": 20.0},
    {
        "events": [
            *_run(_WAIT, _SLEEP, _WAIT),
            {"at": 4.0, "kind": "beat", "node": "a", "rank": 1, "data": {"phase": "training", "step": 4}},
        ],
        "now": 20.0,
    },
]
