"""The program crashed with an exception of its own.

## How it is found
The program, or one of its ranks, ends with a traceback that is not a communication error, by SIGSEGV or SIGABRT, or it
says at its end that it failed. Other ranks lose their peer: `Connection closed by peer`, `ncclRemoteError`, SIGTERM.

Easily confused with rank-sigkilled and rank-exited-early, which print no traceback.

## Why it matters
The program failed by itself: no fault of a machine or of the network is seen. In a job of several ranks the first such
exception is the cause, and all that follows is an echo; torchrun's "root cause" is only the first exit that its own
agent polled.

## What to do
Begin where the line points to: with a traceback at the last frame in your own code. If only one of several ranks or
nodes crashed, look at its data, files, hardware and environment. If all crashed at the same place, look at the program
and its configuration.

## Source
`Segmentation fault` is glibc's text for SIGSEGV, `sysdeps/generic/siglist.h`. `Fatal Python error` is
CPython's, in `libpython3.11.so`. MPICH's Hydra prints `EXIT CODE` in `src/pm/hydra/mpiexec/pmiserv_cb.c`,
SLURM `core dumped` in `src/srun/launch.c`. glog prints `Check failed` in `src/glog/logging.h`, glibc
`Assertion … failed` in `assert/assert.c`.

Topic: ends
"""

from __future__ import annotations

from typing import Collection, List, Optional

from allranks.core.causes import AFTER_A_STEP, END, Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence, Raised
from allranks.diagnose.fragments import cut_off, quoted
from allranks.diagnose.leavers import left_alone
from allranks.diagnose.store import Exit
from allranks.diagnose.symptom import BARE, CRASH, CUT, ECHO, ENDED, STALE, WEAK, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER
from allranks.diagnose.symptoms.nccl_remote_process_exited import CAUSE as NCCL_REMOTE_PROCESS_EXITED
from allranks.diagnose.symptoms.rank_sigkilled import only_rank

CAUSE = Cause(__name__, kind=END, names_the_first=True, restart=AFTER_A_STEP)
RANK_CRASHED_FIRST = CAUSE.id
SIGNALS = {-11: "SIGSEGV", -6: "SIGABRT", -8: "SIGFPE", -4: "SIGILL"}
COMPLAINT = Complaint(
    subject=(
        r"(?i)\bseg(?:mentation )?faults?|\bsegv\b|\bSIG(?:SEGV|ABRT|FPE|ILL)\b|\bcore dump\w{0,3}"
        r"|\bfloating[- ]point exception|\billegal instruction"
        r"|\bdouble free|\bcorrupted (?:size|double|unsorted|top)|\bfree\(\)|\bmalloc\w{0,3}\(\)"
        r"|\bstack smashing|\bpanic(?:ked)?\b|\bsignal (?:6|8|11|4)\b|\bexit ?code:? (?:-6|-11|134|139)\b"
        r"|\bglibc detected|\bgeneral protection"
        r"|\b(?:UR|ZE|PI)_(?:RESULT_)?ERROR_\w{3,40}|\bone ?CCL\b|\blevel[_ -]zero\b|\bSYCL\b|\bUR error\b"
        r"|\bxpu(?:ccl|:\d)?\b"
        r"|\bMUSA\b|\bmu(?:sa|dnn|blas)\w{0,30}\b|\bMCCL\b|\bCN(?:RT|CL|NL|DRV)\b|\bmlu\w{0,12}\b|\bMPS "
        r"(?:backend|device|error|graph)"
        r"|\bMPSGraph|mpsFileLoc"
    ),
    general=True,
)
PATTERNS = (
    Pattern("EXIT CODE: ", r"^=\s{1,9}EXIT CODE: (?:6|11|134|139)\s{0,9}$", weight=CRASH),  # MPICH
    Pattern("Segmentation fault", weight=CRASH),
    Pattern("Fatal Python error", weight=CRASH),
    *(
        Pattern(word, weight=BARE)
        for word in (
            "free(): invalid",
            "malloc(): ",
            "munmap_chunk(): ",
            "realloc(): ",
            "double free or corruption",
            "corrupted size vs",
            "corrupted double-linked",
        )
    ),  # glibc
    Pattern("code", r"(?i)\bexit[- ]code:?\W{0,4}(?:132|136|139)\b", weight=WEAK),
    Pattern("received by PID", r"\*\*\* SIG(?:SEGV|FPE|ILL) \(", weight=CRASH),  # glog
    Pattern(
        "signal",
        r"\b(?:on|by|with|got|received)? ?signal:? (?:4|8|11) \((?:Segm|Float|Illegal|core)",
        weight=ENDED + 5,
    ),
    Pattern("signal", r"\bsignal:? 6 \((?:Aborted|SIGABRT|core)", weight=ECHO - 1),
    Pattern(
        "Check failed: ", r"\.(?:cc|cpp|cu|h):\d{1,6}[\]:]{1,2} {1,3}Check failed: ", weight=BARE
    ),  # glog
    Pattern(
        "Assertion `",
        r"\.(?:c|cc|cpp|cu|h|hpp):\d{1,6}: .{1,400}: Assertion `.{1,300}' failed\.",
        weight=BARE,
    ),  # glibc
    Pattern(
        "Process name: ", r"Process name: \[\[\d{1,9},\d{1,6}\],(?P<rank>\d{1,6})\]", weight=ECHO - 1
    ),  # Open MPI
    Pattern(
        "failed", r"^={3,90} (?:\d{1,6} \w{1,12}, ){0,6}\d{1,6} failed\b.{0,200} in \d", weight=ECHO - 1
    ),  # pytest
    # pip says so last; the compiler's own message, if there is one, is heavier.
    Pattern("building wheel for", r"(?i)\bfailed building wheel for", weight=ECHO - 1),
    Pattern("not build wheels for", weight=ECHO - 1),
    # The program itself called it; its reason, if it printed one, is heavier.
    Pattern(
        "MPI_Abort(", r"called MPI_Abort\(.{1,120}\) - process (?P<rank>\d{1,6})", weight=ECHO - 1
    ),  # MPICH
    Pattern(
        "MPI_ABORT was invoked on rank", r"on rank (?P<rank>\d{1,6}) in communicator", weight=ECHO - 1
    ),  # Open MPI
    Pattern(
        "MPT ERROR: Rank", r"Rank (?P<rank>\d{1,6})\(g:\d{1,6}\) is aborting with error", weight=ECHO - 1
    ),  # HPE
    # A watchdog that only waited prints this too, so a rank that blames another is stronger evidence.
    Pattern("terminate called after throwing an instance of", weight=ECHO - 5),
    Pattern("(core dumped)", weight=ECHO - 5),
)


def judge(seen: Evidence, others: "Optional[Collection[str]]" = None) -> Optional[Case]:
    """The earliest exception over all ranks that no other symptom knows and that is not a communication error.
    `others`: the symptoms that have a case; None: any may."""
    id_ = "rank-crashed-first"
    raised = [(rank, r) for rank, r in seen.raised() if not r.communication and not taken(r, others)]
    hits = [Hit(id_, _weight(seen, r), r.line, r.order, r.at, r.steps) for _, r in raised]
    weight = max((h.weight for h in hits), default=STALE)
    if weight <= STALE:
        other = _by_signal(seen) or _by_text(seen, others)
        if other is not None or not hits:
            return other
    hits = sorted((h for h in hits if h.weight == weight), key=lambda h: (_time(seen, h), h.order))
    same = [h for h in hits if _kind(h) == _kind(hits[0])]
    first = next((r for _, r in raised if r.order == hits[0].order), None)
    frame, own = (first.frames[-1].strip(), first.own.strip()) if first and first.frames else ("", "")
    notes = (f"in your code: {own}",) if own and own != frame else ()
    notes += (f"raised in {frame}",) if frame else ()
    # Without a rank's name this may be a launcher's exception, or an echo of a failure in another log.
    named = weight > STALE and seen.rank_of(hits[0].line) is not None
    rank = first.named if first is not None and not named else None
    return Case(id_, weight, tuple(same), "certain" if named else "likely", rank=rank, notes=notes)


def taken(raised: Raised, others: "Optional[Collection[str]]") -> bool:
    """Whether an exception belongs to another symptom: to one whose pattern knows it, and that has a case."""
    known = set(raised.known) - {RANK_CRASHED_FIRST}
    return bool(known if others is None else known.intersection(others))


def _by_text(seen: Evidence, others: "Optional[Collection[str]]") -> Optional[Case]:
    """The crash is known from a text alone: of an interpreter, of an exception that is quoted without its traceback, of
    a traceback without its exception, or of a launcher's exit code."""
    case, told = seen.case(RANK_CRASHED_FIRST), quoted(seen)
    root = [
        r for r in told if r.line.rank is not None and r.line.rank == seen.root_cause and not r.communication
    ]
    told = root or told  # torchrun's table quotes what ended the first rank
    if (case is not None and case.weight >= BARE) or any(taken(r, others) or r.communication for r in told):
        return case or _gave_up(seen) or _by_exit_code(seen)
    if told:
        hits = [Hit(RANK_CRASHED_FIRST, BARE, r.line, r.order, r.at, r.steps) for r in told]
        notes = ("the exception's traceback is not in this log",)
        return Case(RANK_CRASHED_FIRST, BARE, tuple(hits), "likely", notes=notes)
    begun = cut_off(seen)
    if begun:
        hits = [Hit(RANK_CRASHED_FIRST, CUT, r.line, r.order, r.at, r.steps) for r in begun]
        notes = ("the exception at the end of this traceback is not in this log",)
        return Case(RANK_CRASHED_FIRST, CUT, tuple(hits), "likely", notes=notes)
    return case or _gave_up(seen) or _by_exit_code(seen)


def _kind(hit: Hit) -> str:
    """A key that compares exceptions: the class and the message without its numbers."""
    return "".join(c for c in hit.line.text[:200] if not c.isdigit())


def _time(seen: Evidence, hit: Hit) -> float:
    several = len(seen.sources) > 1
    return (hit.at if hit.at is not None else float("inf")) if several else 0.0


def _weight(seen: Evidence, raised: Raised) -> int:
    return STALE if seen.survived(raised) else CRASH


def _by_signal(seen: Evidence) -> Optional[Case]:
    """SIGABRT is also how NCCL's watchdog ends a rank that only waited, or that lost one that was killed: there it
    proves nothing."""
    blaming = seen.blamers()
    killed = seen.root_cause if any(e.rank == seen.root_cause and e.code == -9 for e in seen.exits) else None
    waited = bool(seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id))
    dead = [
        e
        for e in seen.exits
        if e.code in SIGNALS
        and not (e.code == -6 and (waited or e.rank is None or e.rank in blaming or killed is not None))
    ]
    if not dead:
        return None
    first = min(dead, key=lambda e: e.order)
    hit = Hit("rank-crashed-first", CRASH, first.line, first.order, first.at, 0)
    notes = (f"ended by {SIGNALS[first.code]}",)
    rank = first.rank if first.rank is not None else only_rank(seen, first.local)
    return Case("rank-crashed-first", CRASH, (hit,), "likely", rank=rank, node=first.node, notes=notes)


def _by_exit_code(seen: Evidence) -> Optional[Case]:
    """The case that the crash itself is not in the log: one rank ended with an error, and for that reason the others
    blame a peer, or SLURM ended them."""
    failed = _failed_alone(seen)
    if len({e.rank for e in failed}) > 1 and failed[0].order < seen.step_ended:
        hit = Hit("rank-crashed-first", ECHO, failed[0].line, failed[0].order, failed[0].at, 0)
        notes = ("several ranks left with an exit code; then the scheduler ended the others",)
        return Case("rank-crashed-first", ECHO + 5, (hit,), "likely", notes=notes)
    if len({e.rank for e in failed}) != 1:
        return None
    hit = Hit("rank-crashed-first", ECHO, failed[0].line, failed[0].order, failed[0].at, 0)
    notes = (
        f"rank {failed[0].rank} left with exit code {failed[0].code}; its last lines are not in this log",
    )
    return Case(
        "rank-crashed-first",
        ECHO + 5,
        (hit,),
        "likely",
        rank=failed[0].rank,
        node=failed[0].node,
        notes=notes,
    )


def _gave_up(seen: Evidence) -> Optional[Case]:
    """One rank says what is wrong and leaves, and then the others lose it."""
    left = left_alone(seen, seen.hits.get(NCCL_REMOTE_PROCESS_EXITED.id, ()))
    return left.case(RANK_CRASHED_FIRST, "why it leaves") if left is not None and left.gave_up else None


def _failed_alone(seen: Evidence) -> List[Exit]:
    failed = [e for e in seen.exits if e.code > 0 and e.rank is not None]
    before = [e for e in failed if e.order < seen.step_ended]
    if before:
        return before
    blaming = seen.blamers()
    noticed = blaming and seen.hits.get(NCCL_REMOTE_PROCESS_EXITED.id)
    if not noticed or any(rank is None for rank, _ in seen.raised()):
        return []
    return [e for e in failed if e.rank not in blaming]
