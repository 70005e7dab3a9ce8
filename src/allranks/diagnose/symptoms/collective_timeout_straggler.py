"""A rank was late or hung; the others timed out.

## How it is found
NCCL: `Watchdog caught collective operation timeout: WorkNCCL(SeqNum=*, OpType=*, ...) ran for *
milliseconds`; Gloo: `Timed out waiting *ms for recv|send operation`; monitoredBarrier and Horovod
(`[missing ranks: 1]`) name the missing ranks. If at least three ranks wait and one number among them is missing, that
one is the suspect. The late rank itself prints nothing and only gets SIGTERM. Or the log has the stacks of several
processes (faulthandler, `py-spy dump`), and only one of them does not wait for others.

Easily confused with dataset-preprocessing-timeout, collective-mismatch, moe-expert-not-used-hang,
peer-node-network-broken: each of them looks like this first.

## Why it matters
The ranks that report are the ones that waited. The cause is what the late rank did meanwhile.

## What to do
Look at the suspected rank: its last lines, its stack (py-spy, stacks/), its process state. All ranks must evaluate and
save together; raise ddp_timeout only if the work really takes that long.

## Source
PyTorch prints the texts about NCCL's collectives and its watchdog in
`torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp`. `Application timeout caused pair closure` is Gloo's,
`gloo/transport/tcp/unbound_buffer.cc`. `missing ranks` is a text of `libtorch_cpu.so` of PyTorch 2.13. The
other texts are as people posted them in public reports.

Topic: training
"""

from __future__ import annotations

from typing import List, Optional, Set, Tuple

from allranks.core.causes import BLAME, PASSES, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.dumped_stacks import Hung, hung
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.leavers import LOST
from allranks.diagnose.lines import clean
from allranks.diagnose.symptom import DUMPED, ECHO, Case, Hit, Pattern

CAUSE = Cause(
    __name__,
    kind=BLAME,
    names_the_first=True,
    holds_after_the_end=True,
    hearsay=True,
    restart=PASSES,
    fix_of_rank="look at that line on {node}; its whole stack is in stacks/rank-{rank}.txt.",
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:nccl.{0,20}(?:watch ?dog|time ?-?out)|nccl.{0,40}\b(?:hang\w{0,3}|hung"
        r"|stuck|deadlock\w{0,3})|watchdog(?!: BUG)|ncclCommWatchdog"
        r"|ProcessGroupNCCL.{0,120}time(?:d )?out|collectives?|all[-_]?reduce\w{0,8}"
        r"|all[-_]?gather\w{0,20}|reduce[-_]?scatter\w{0,20}|barrier|broadcast(?! compatible| together)"
        r"|nccl time ?-?out"
        r"|heartbeat monitor|hang\w{0,3}|hung|stuck|deadlock\w{0,4})\b|\u901a\u4fe1\u8d85\u65f6"
        r"|\u5361\u4f4f|\u5361\u6b7b|\u6302\u8d77"
    ),
    general=True,
)
PATTERNS = (
    Pattern("there are other ranks that didn't", r"TP rank \d{1,6} could finish", weight=80),  # SGLang
    Pattern("Timed out waiting", r"Timed out waiting \d{1,12} ?ms", weight=ECHO),
    Pattern("collective operation timeout", weight=ECHO),
    Pattern("One or more tensors were submitted to be reduced", weight=ECHO),  # Horovod's stall inspector
    Pattern("milliseconds before timing out", weight=ECHO),
    Pattern("failed to pass monitoredBarrier", weight=ECHO),
    Pattern("Heartbeat monitor timed out", weight=ECHO),
    Pattern(
        "watchdog thread",
        r"terminated with exception.{0,200}[Tt]imeout",
        weight=ECHO,
    ),
    Pattern(
        "timeout or error", r"collectives? have failed or timed out|collective timeout or error", weight=ECHO
    ),
    Pattern("caught collective", weight=ECHO),
    Pattern("wait timeout after", weight=ECHO),
    Pattern("Application timeout caused pair closure", weight=ECHO),
    Pattern("Some NCCL operations have failed or timed out", weight=ECHO - 3),
    Pattern("taking the", r"taking the (?:entire )?process down", weight=ECHO - 3),
    Pattern("watchdog got stuck for", weight=ECHO),
    Pattern("Socket Timeout", weight=ECHO),
    Pattern("training is not progressing", weight=ECHO),
    Pattern("timed out in blocking wait", weight=ECHO),
    Pattern("missing ranks", r"\[missing ranks: ?[\d, ]{1,400}\]", weight=ECHO),
    Pattern(
        "ready ranks", r"\[ready ranks: ?(?P<ready>\d[\d, ]{0,400})\]", weight=ECHO
    ),  # older versions of Horovod
    Pattern("missing ranks", r"missing ranks: \{[\d, ]{1,400}\}", weight=ECHO),  # torchfrtrace
)
RIVALS = 4
FEWEST = 3
"""Ranks that wait, from which on the only missing number among them is a rank, if no line tells the world size."""


def judge(seen: Evidence) -> Optional[Case]:
    """The suspect: the rank whose stack shows that it does not wait, else the one that a barrier waits for, else the
    one that completed the fewest collectives, else the silent one."""
    case = seen.case("collective-timeout-straggler")
    one = hung(seen)
    if one is not None:
        hit = Hit(
            "collective-timeout-straggler", DUMPED, one.line, one.dump.order, one.dump.at, one.dump.steps
        )
        if not seen.survived(hit):
            return _by_stacks(seen, one, hit, case)
    if case is None or case.weight < ECHO:  # the watchdog ends the process for other errors, too
        return case
    suspects, reason = _suspects(seen, case)
    if not suspects or len(suspects) > max(RIVALS, len(seen.world) // 2):
        return case._replace(confidence="likely", only_suffered=True)
    notes = [f"suspect: rank {rank}, {reason}" for rank in suspects[:2]]
    known = seen.ranks.get(suspects[0])
    if known is not None and known.last_plain is not None:
        notes.append(f"the last that rank {suspects[0]} said: {clean(known.last_plain.text, 160)}")
    return case._replace(weight=ECHO + 2, rank=suspects[0], confidence="likely", notes=tuple(notes))


def _by_stacks(seen: Evidence, one: Hung, hit: Hit, case: Optional[Case]) -> Case:
    """If it is not known whose stack it is, the lines of the others may tell it."""
    suspects = _suspects(seen, case)[0] if case is not None and one.rank is None else []
    rank = suspects[0] if len(suspects) == 1 else one.rank
    hits = (hit, *(case.hits if case is not None else ()))
    return Case(hit.symptom, DUMPED, hits, "likely", rank=rank, notes=one.notes, only_suffered=rank is None)


def awaited(seen: Evidence) -> List[int]:
    """The ranks whose NCCL id others waited for in vain, and that do not blame others themselves."""
    return sorted(set(seen.awaited) - seen.blamers())


def _suspects(seen: Evidence, case: Case) -> Tuple[List[int], str]:
    missing = set(seen.missing_ranks)
    others = set(seen.silent()) - missing
    if missing == {0} and len(others) == 1 and "send/recv" in seen.missing_ranks[0].text:
        # In a monitored barrier the others wait for rank 0, which waits for each of them.
        return sorted(others), "which reports nothing itself; rank 0 may only have waited for it"
    if missing:  # of those that others waited for, one may itself name the missing rank
        return sorted(missing - seen.blamers() or missing), "missing in the barrier"
    if awaited(seen):
        return awaited(seen), "which never wrote the NCCL id that the others waited for"
    silent = seen.silent()
    if silent and seen.blamers():
        return silent, "which reports nothing itself"
    ready = {int(n) for h in case.hits for n in (h.group("ready") or "").split(",") if n.strip()}
    gap = _gap(seen, ready or set(seen.collectives))
    if gap is not None:
        return [gap], "the only one of these that does not wait"
    if len(seen.completed) > 1:
        done = {rank: work[1] for rank, work in seen.completed.items()}
        least = min(done.values())
        if least < max(done.values()):
            return sorted(
                r for r, n in done.items() if n == least
            ), f"which completed only {least} collectives"
    numbers = {rank: c.sequence for rank, c in seen.collectives.items()}
    if len(numbers) > 1 and min(numbers.values()) < max(numbers.values()):
        least = min(numbers.values())
        return sorted(
            r for r, n in numbers.items() if n == least
        ), f"which hangs at collective {least}, before the others"
    late = _came_late(seen)
    return (
        ([late], "which lost its peers only after all others had timed out") if late is not None else ([], "")
    )


def _came_late(seen: Evidence) -> Optional[int]:
    """The only rank that lost its peers, if all others timed out: they waited for it, and were gone when it came."""
    said = {rank: one.line.text for rank, one in seen.raised() if one.communication and rank is not None}
    lost = {rank for rank, text in said.items() if LOST.search(text) is not None}
    timed_out = {rank for rank, text in said.items() if "imed out" in text}
    is_clear = len(lost) == 1 and len(timed_out) >= FEWEST - 1 and lost | timed_out == seen.world
    return lost.pop() if is_clear else None


def _gap(seen: Evidence, waiting: Set[int]) -> Optional[int]:
    """The only number that is missing among the ranks that wait, if that rank says nothing itself."""
    if len(waiting) < FEWEST:
        return None
    missing = (seen.world | set(range(max(waiting) + 1))) - waiting
    spoke = seen.blamers() | {rank for rank, _ in seen.raised()}
    return missing.pop() if len(missing) == 1 and not missing & spoke else None
