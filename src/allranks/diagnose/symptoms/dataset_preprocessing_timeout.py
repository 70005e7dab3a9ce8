"""The others timed out while one rank prepared the data.

## How it is found
Time-outs (or `retrieving ncclUniqueId from [0] ... got error`) on ranks other than 0 while rank 0 shows
`Running tokenizer on dataset`, `Map` or download bars.

Easily confused with collective-timeout-straggler, where no rank was preparing data.

## Why it matters
Rank 0 tokenizes alone and the others wait in a barrier until their time-out ends the run. Rank 0's own
later error is a consequence.

## What to do
Prepare the data set once before the run (LLaMA-Factory: `tokenized_path`; datasets: its cache on shared
storage), more `preprocessing_num_workers`, or a longer `ddp_timeout`.

## Source
PyTorch prints `retrieving ncclUniqueId from` in its NCCL process group; Gloo's stores raise `Wait timeout`
in `gloo/rendezvous/file_store.cc` and `hash_store.cc`. `Wait timeout` is also in `libtorch_cpu.so` of
PyTorch 2.13.

Topic: training
"""

from __future__ import annotations

import re
from typing import List, Optional

from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, ENDED, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER

_SUBJECT = (
    r"(?i)^(?=.{0,300}\b(?:time[- ]?outs?|timed out|times out|barrier|\d{2} min\w{0,5})\b)"
    r"(?=.{0,300}\b(?:tokeniz|tokenis|pre-?process"
    r"|prepping|prepar|dataset\.map|dataset map|data prep|building the (?:index|dataset)|packing))"
    r"(?=.{0,300}\b(?:rank|ranks|process|processes|nccl|device|barrier|main|others|workers)\b)"
    r"(?=.{0,300}\b(?:data|dataset|datasets"
    r"|corpus|samples|tokeniz\w{1,6})\b)"
)
CLAIM = Claim(subject=_SUBJECT)
COMPLAINT = Complaint(subject=_SUBJECT)
PATTERNS = (
    Pattern(
        "ncclUniqueId from", r"retr(?:ie|ei)ving ncclUniqueId", weight=ECHO
    ),  # older versions misspell it
    Pattern("Wait timeout", r"DistStoreError.{0,40}[Ww]ait timeout", weight=ECHO),
)

LIMITS = 600, 1800
"""torch's own limits of a collective, in seconds: NCCL's since 2.2, and that of other backends."""

SLACK = 45
_LASTED = re.compile(r"\[(?:(\d{1,3}):)?(\d\d):(\d\d)<")


def judge(seen: Evidence) -> Optional[Case]:
    """Time-outs, no step yet, and data being prepared until then."""
    waits = [
        h
        for s in (COLLECTIVE_TIMEOUT_STRAGGLER.id, "dataset-preprocessing-timeout")
        for h in seen.hits.get(s, ())
    ]
    if seen.steps:
        return None
    if not waits:
        return _cut_off(seen)
    if seen.preprocessing is None or seen.preprocessing_last is None:
        return _waiting(seen, waits)
    order, line = seen.preprocessing_last
    bar = Hit("dataset-preprocessing-timeout", ENDED, line, order, seen.now(line), 0)
    rank = seen.rank_of(seen.preprocessing[1])
    if rank is None and "waits-for-main" in seen.words:
        rank = 0
    if rank is None and len(seen.silent()) == 1:
        rank = seen.silent()[0]
    notes = () if rank is None else (f"rank {rank} was preparing the data",)
    case = Case("dataset-preprocessing-timeout", ENDED, (bar, *waits[:4]), "likely", rank=rank, notes=notes)
    return case._replace(only_suffered=rank is None)


def _cut_off(seen: Evidence) -> Optional[Case]:
    """The log ends within a traceback, without the exception, just when the preparation has lasted as long as torch's
    time limit."""
    if seen.preprocessing_last is None or any(True for _ in seen.raised()):
        return None
    order, line = seen.preprocessing_last
    lasted = _LASTED.search(line.text)
    headed = any(one.headed for one in (*seen.ranks.values(), *seen.streams.values()))
    if lasted is None or not headed:
        return None
    seconds = int(lasted.group(1) or 0) * 3600 + int(lasted.group(2)) * 60 + int(lasted.group(3))
    if not any(abs(seconds - limit) <= SLACK for limit in LIMITS):
        return None
    bar = Hit("dataset-preprocessing-timeout", ENDED, line, order, seen.now(line), 0)
    notes = (
        f"another rank's traceback begins after {seconds} s of preparation, which is torch's time limit",
    )
    return Case("dataset-preprocessing-timeout", ENDED, (bar,), "likely", notes=notes)


def _waiting(seen: Evidence, waits: List[Hit]) -> Optional[Case]:
    """No bar is shown, but the ranks' own frames say that they waited for the main process to prepare the data."""
    if "waits-for-main" not in seen.words:
        return None
    notes = ("the ranks waited for the main process (main_process_first), which prepares the data alone",)
    return Case("dataset-preprocessing-timeout", ENDED, tuple(waits[:4]), "likely", rank=0, notes=notes)
