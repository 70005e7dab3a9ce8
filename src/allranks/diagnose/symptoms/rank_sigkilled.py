"""A rank was killed.

## How it is found
`exitcode : -9`, `Signal 9 (SIGKILL)`, `exits with return code = -9`, exit code 137; the others report that
a peer closed the connection. DeepSpeed's launcher prints the command of the last process that it started, so the
`--local_rank` in that line does not say which one ended.

Easily confused with cpu-oom-killed, where a line proves it; a rank that the launcher itself killed with force
after it ignored SIGTERM is a victim, and so is a task that SLURM killed because another one had failed.

## Why it matters
SIGKILL comes from outside the process: usually the kernel's OOM killer, sometimes a person or a scheduler. These
logs do not show which.

## What to do
On that node look at `dmesg -T` for "Killed process". If it is there, add host memory or use fewer loader workers
(dataloader_num_workers). If not, look for a scheduler or a person that kills processes there.

## Source
`Killed` is glibc's text for SIGKILL, `sysdeps/generic/siglist.h`. CPython 3.11 prints `died with
<Signals.SIGKILL` in `subprocess.py`. MPICH's Hydra prints `EXIT CODE` in
`src/pm/hydra/mpiexec/pmiserv_cb.c`.

Topic: ends
"""

from __future__ import annotations

from typing import Optional, Set

from allranks.core.causes import END, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import CRASH, ENDED, WEAK, Case, Hit, Pattern

CAUSE = Cause(__name__, kind=END, restart=PASSES, repeats_on="rank", by_kill=True)
PATIENCE_SECONDS = 10.0
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bSIGKILL\b|\bsignal 9\b|\bkill -9|\bexit(?:ed)?(?: with)?(?: code| status)?:? (?:-9|137)\b"
        r"|\b(?:is|was|are|were|got|gets?|getting|been|being|keeps?|process(?:es)?|training"
        r"|train|job|script|program|run"
        r"|task|workers?|pods?|randomly|suddenly|automatically|always|shows?|showed|says?"
        r"|message|just|immediately)"
        r"\W{1,4}killed\b(?! (?:by|with) (?:signal|SIG(?!KILL)|the user|user|me\b))"
        r"|^\W{0,12}killed\b|[^\x00-\x7f]\W{0,3}killed\b|\bkilled\W{0,4}$|[\"'`*]killed|\bkills? itself\b"
        r"|\u88ab ?kill|\u88ab\u6740|\u6740\u6b7b"
    ),
    general=True,
)
PATTERNS = (
    Pattern("EXIT CODE: ", r"^=\s{1,9}EXIT CODE: (?:9|137)\s{0,9}$", weight=CRASH),  # MPICH
    Pattern("Signals.SIGKILL", r"died with <Signals\.SIGKILL", weight=CRASH, without=("forcefully",)),
    Pattern(
        "code",
        r"(?i)\b(?:return|exit|error|status|exited with)[ _-]?code\W{0,4}(?:(?:is|was|of)\W{1,3})?(?:-9|137)\b",
        weight=WEAK,
    ),
    Pattern(
        "signal",
        r"(?i)\b(?:on|by|with|got|received|from) (?:a )?signal:? ?(?:9\b(?![.\d])|kill\b)",
        weight=WEAK,
    ),
    Pattern(
        "status", r"(?i)\bexit(?:ed|s)?(?: with)?(?: non-zero)? status:? ?(?:code )?(?:-9|137)\b", weight=WEAK
    ),
    Pattern("exit code", r"exit(?:ed with exit)? code:? 137\b", weight=CRASH),
    Pattern("exitcode", r"ChildFailedError\W{0,4}exitcode\W{0,4}-9\b", weight=WEAK),
    Pattern("exit with status code", r"exit with status code 137\b", weight=CRASH),  # Horovod
    Pattern("Killed", r"^[\s*`]{0,4}Killed[\s*`]{0,4}$", weight=WEAK),
    Pattern("]Killed", r"(?:it/s|s/it)[^\]]{0,80}\]Killed\s{0,4}$", weight=WEAK),  # behind a progress bar
    Pattern("Killed", r"line \d{1,12}:\s{1,9}\d{1,12} Killed\b", weight=CRASH),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The first -9 of any node that our own launcher did not force."""
    forced = forced_kills(seen)
    killed = [e for n, e in enumerate(seen.exits) if e.code == -9 and n not in forced]
    if not killed:
        case = seen.case("rank-sigkilled")
        return None if case is not None and case.weight <= WEAK and forced else case
    first = min(killed, key=lambda e: (e.at if e.at is not None else float("inf"), e.order))
    if len({e.rank for e in killed}) > 1 and {e.order for e in seen.exits} == {first.order}:
        # Who ended all of them, and why, says more.
        hit = Hit("rank-sigkilled", ENDED, first.line, first.order, first.at, 0)
        return Case("rank-sigkilled", ENDED, (hit,), "likely", only_suffered=True)
    hits = tuple(Hit("rank-sigkilled", CRASH, e.line, e.order, e.at, 0) for e in [first, *killed][:4])
    rank = first.rank if first.rank is not None else only_rank(seen, first.local)
    return Case("rank-sigkilled", CRASH, hits, "likely", rank=rank, node=seen.node_of(first.line))


def forced_kills(seen: Evidence) -> Set[int]:
    """The numbers in `seen.exits` of the kills that another failure explains: torchrun lost its patience with a process
    (30 s after the failure), or SLURM or Intel MPI ended the other tasks for it."""
    started = {name: source.again[0] for name, source in seen.sources.items()}  # the last time
    failed = [e for e in seen.exits if e.code not in (0, -9, -15) and e.order > started[e.line.source]]
    times = [e.at for e in failed if e.at is not None]
    late = min(times) + PATIENCE_SECONDS if times else float("inf")
    ended = seen.step_ended if any(e.order < seen.step_ended for e in failed) else seen.count
    return {
        number
        for number, e in enumerate(seen.exits)
        if e.code == -9
        and (
            e.pid in seen.forced_pids
            or (failed and "KILLED BY SIGNAL" in e.line.text)
            or e.order > ended
            or (e.at is not None and e.at >= late)
        )
    }


def only_rank(seen: Evidence, local: "int | None") -> Optional[int]:
    """A local rank is the global one where one node alone is known."""
    return local if len(seen.nodes) <= 1 else None
