"""The ranks are in different collectives.

## How it is found
`Detected mismatch between collectives on ranks` (with TORCH_DISTRIBUTED_DEBUG=DETAIL, on all ranks: the
minority's fingerprint is the odd one), Gloo's `op.preamble.length <= op.nbytes` (exit -6), `params[*] in
this process with sizes * appears not to match`, NCCL's `Message truncated`, or watchdogs with different
OpType or NumelIn at the same SeqNum.

Easily confused with collective-timeout-straggler, moe-expert-not-used-hang.

## Why it matters
One rank calls another collective, or the same with another shape: the job hangs or aborts. Without DETAIL
it looks like a straggler.

## What to do
Make every rank take the same path: the same model, the same number of batches, no collective under `if rank
== 0`. Run once with TORCH_DISTRIBUTED_DEBUG=DETAIL.

## Source
PyTorch raises `Detected mismatch between collectives` and `Collectives differ in the following` in
`torch/csrc/distributed/c10d/ProcessGroupWrapper.cpp`, and `join collective` in `TraceUtils.h`. Gloo checks
`op.preamble.length` in `gloo/transport/tcp/pair.cc`. NCCL 2.30.7 prints `Message truncated` in
`src/bootstrap.cc`. The other texts are as people posted them in public reports.

Topic: training
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Dict, Optional, Tuple

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.differences import only_one_differs
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER

CAUSE = Cause(
    __name__,
    cannot_be_work=True,
    is_hopeless=True,
    by_comparison=True,
    fix_of_rank="make every rank take the same path there: no collective under a rank's own condition.",
)
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:different|mismatched|same) (?:collective|number of (?:batches|steps) on)"
        r"|\bcollectives? .{0,40}mismatch"
    ),
)
PATTERNS = (
    Pattern("DistributedOperationException", raised=True, weight=90),  # accelerate
    Pattern("Unable to unpickle data from other workers", weight=96),  # fairseq
    Pattern("gradients are inconsistent between workers", weight=96),
    Pattern("mismatch between collectives"),
    Pattern("op.preamble.length"),
    Pattern("appears not to match", r"in this process with sizes"),
    Pattern("expects same model across all ranks"),
    Pattern("join collective", r"finished collective #\d{1,12}, but didn't join collective"),
    Pattern("Message truncated"),
    Pattern("Collectives differ in the following"),
    Pattern("Mismatched collective", weight=90),
    Pattern(
        "in the collective instance", r"(?i)(?:shape|data ?type|type) mismatch in the collective"
    ),  # TensorFlow
)
ZERO3 = ("_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE")
"""ZeRO's own collectives run in one group of all ranks, so equal numbers are the same collective."""

_PRINT = re.compile(
    r"Rank (\d{1,6}) is running collective: CollectiveFingerPrint\((?:SequenceNumber=(\d{1,12}), ?)?"
    r"(OpType=\w{1,40}(?:, TensorShape=\[[\d, ]{0,200}\])?)"
)
_COUNTS = re.compile(r"[Rr]ank (\d{1,6}) has (?:inconsistent )?(\d{1,9}) params")
_LAGS = re.compile(r"\[(\d{1,6})\] finished collective #(\d{1,12}), but didn't join")


def judge(seen: Evidence) -> Optional[Case]:
    """The culprit is the minority: among fingerprints, or among watchdogs at one SeqNum."""
    case = seen.case("collective-mismatch")
    prints: Dict[int, str] = {}
    for hit in seen.hits.get("collective-mismatch", ()):
        for rank, _, what in _PRINT.findall(hit.line.text):
            prints.setdefault(int(rank), what)
        for rank, count in _COUNTS.findall(hit.line.text):
            prints.setdefault(int(rank), f"{count} parameters")
    odd, notes = _minority(prints)
    if case is not None:
        lags = [m.group(1) for h in case.hits for m in [_LAGS.search(h.line.text)] if m]
        if odd is None and lags:
            odd = int(lags[0])
        other = only_one_differs(seen) if odd is None else None
        if other is not None:
            sure = case.confidence if _aborted(seen) == other.rank else "likely"
            return case._replace(rank=other.rank, notes=(other.note,), confidence=sure)
        if odd is None:
            odd = _aborted(seen)
        return case._replace(rank=odd, notes=notes) if odd is not None else case
    if case is None and seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id) and not seen.collectives:
        return _by_operation(seen)
    shapes = {r: f"OpType={c.operation}, NumelIn={c.numel}" for r, c in seen.collectives.items()}
    numbers = {c.sequence for c in seen.collectives.values()}
    odd, notes = _minority(shapes)
    if len(numbers) != 1 or len(set(shapes.values())) < 2:
        return None
    zero3 = {c.operation for c in seen.collectives.values()} & set(ZERO3)
    if odd is None and not zero3:
        return None  # two groups of ranks count their collectives apart
    line = seen.collectives[odd if odd is not None else min(seen.collectives)].line
    hit = Hit("collective-mismatch", ECHO, line, seen.count, seen.now(line), 0)
    if odd is None:
        notes = tuple(f"rank {rank}: {shape}" for rank, shape in sorted(shapes.items())[:4])
        return Case("collective-mismatch", ECHO + 4, (hit,), "likely", notes=notes)
    return Case("collective-mismatch", ECHO + 8, (hit,), "likely", rank=odd, notes=notes)


def _aborted(seen: Evidence) -> Optional[int]:
    """The one rank that Gloo's own check aborted."""
    ranks = {e.rank for e in seen.exits if e.code == -6 and e.rank is not None}
    return next(iter(ranks)) if len(ranks) == 1 else None


def _by_operation(seen: Evidence) -> Optional[Case]:
    """Time-outs on every rank, whose tracebacks end in different collectives."""
    blaming = seen.blamers()
    odd, notes = _minority({r: what for r, what in seen.operations.items() if r in blaming})
    if odd is None or seen.silent():
        return None
    hits = [h for h in seen.hits[COLLECTIVE_TIMEOUT_STRAGGLER.id] if seen.rank_of(h.line) == odd]
    return Case("collective-mismatch", ECHO + 8, tuple(hits[:2]), "likely", rank=odd, notes=notes)


def _minority(prints: Dict[int, str]) -> Tuple[Optional[int], Tuple[str, ...]]:
    """The one rank that differs from at least two that agree."""
    counts = Counter(prints.values())
    if len(counts) < 2:
        return None, ()
    common, many = counts.most_common(1)[0]
    others = sorted(rank for rank, what in prints.items() if what != common)
    if many < 2 or len(others) > len(prints) // 2:
        return None, ()
    return others[0], (f"rank {others[0]}: {prints[others[0]]}; {many} others: {common}",)
