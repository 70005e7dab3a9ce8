"""A rank was killed

## What is seen
`exitcode : -9`, `Signal 9 (SIGKILL)`, `exits with return code = -9`, exit code 137; the others report that
a peer closed the connection.

## Why it matters
SIGKILL comes from outside the process: mostly the kernel for want of memory, sometimes a person or a
scheduler. Which one, no line here proves.

## What to do
On that node look at `dmesg -T` for "Killed process"; if it is there: more host memory, fewer workers. Then
ask who else may kill there.

## Confused with
cpu-oom-killed, where a line proves it; a rank that the launcher itself killed with force after it ignored
SIGTERM is a victim.
"""

from __future__ import annotations

from typing import Optional

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.facts import Exit
from allranks.diagnose.symptom import CRASH, Case, Hit, Pattern

ROLE = "P"
EXPLAINS = ("nccl-remote-process-exited", "rank-exited-early")
PATIENCE_SECONDS = 10.0
PATTERNS = (
    Pattern("Signals.SIGKILL", r"died with <Signals\.SIGKILL", weight=CRASH, without=("forcefully",)),
    Pattern("exit code", r"exit(?:ed with exit)? code:? 137\b", weight=CRASH),
    Pattern("Killed", r"line \d{1,12}:\s{1,9}\d{1,12} Killed\b", weight=CRASH),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The first -9 of any node that our own launcher did not force."""
    killed = [
        e for e in seen.exits if e.code == -9 and e.pid not in seen.forced_pids and not _forced(seen, e)
    ]
    if not killed:
        return seen.case("rank-sigkilled")
    first = min(killed, key=lambda e: (e.at if e.at is not None else float("inf"), e.order))
    hits = tuple(Hit("rank-sigkilled", CRASH, e.line, e.order, e.at, 0) for e in [first, *killed][:4])
    rank = first.rank if first.rank is not None else only_rank(seen, first.local)
    return Case("rank-sigkilled", CRASH, hits, "likely", rank=rank, node=seen.node_of(first.line))


def _forced(seen: Evidence, killed: Exit) -> bool:
    """Whether another process had failed long before: then it was torchrun that lost its patience (after 30 s)."""
    failed = [e.at for e in seen.exits if e.code not in (0, -9, -15) and e.at is not None]
    return killed.at is not None and bool(failed) and killed.at - min(failed) >= PATIENCE_SECONDS


def only_rank(seen: Evidence, local: "int | None") -> Optional[int]:
    """A local rank is the global one where one node alone is known."""
    return local if len(seen.nodes) <= 1 else None


FIRES = (
    "[rank3]: Traceback (most recent call last):\n"
    "[rank3]: RuntimeError: [gloo/transport/tcp/pair.cc:561] Connection closed by peer [127.0.0.1]:36532\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    "[2023-05-02 11:22:33,123] [ERROR] [launch.py:434:sigkill_handler] "
    "['python', 't.py'] exits with return code = -9\n",
)
_ROW = "  time      : 2026-11-20_13:{t}\n  rank      : {r} (local_rank: {r})\n  exitcode  : {c} (pid: {r}1)\n"
SILENT = (
    "  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 7119)  (SIGTERM)\n",
    "W1120 api.py:900] Unable to shutdown process 9455 via Signals.SIGTERM, forcefully exiting via Signals.SIGKILL\n"
    "E1120 23:10:28.193 9449 api.py:1002] failed (exitcode: -9) local_rank: 2 (pid: 9455) of binary: python3\n",
    _ROW.format(t="02:58", r=1, c=1) + _ROW.format(t="03:29", r=0, c=-9),
)
