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

Topic: training
"""

from __future__ import annotations

from typing import List, Optional

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, ENDED, Case, Hit, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER

PATTERNS = (
    Pattern("retrieving ncclUniqueId from", weight=ECHO),
    Pattern("Wait timeout", r"DistStoreError.{0,40}[Ww]ait timeout", weight=ECHO),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Time-outs, no step yet, and data being prepared until then."""
    waits = [
        h
        for s in (COLLECTIVE_TIMEOUT_STRAGGLER.id, "dataset-preprocessing-timeout")
        for h in seen.hits.get(s, ())
    ]
    if not waits or seen.steps:
        return None
    if seen.preprocessing is None or seen.preprocessing_last is None:
        return _waiting(seen, waits)
    order, line = seen.preprocessing_last
    bar = Hit("dataset-preprocessing-timeout", ENDED, line, order, seen.now(line), 0)
    rank = seen.rank_of(seen.preprocessing[1])
    if rank is None and "waits-for-main" in seen.words:
        rank = 0
    notes = () if rank is None else (f"rank {rank} was preparing the data",)
    return Case("dataset-preprocessing-timeout", ENDED, (bar, *waits[:4]), "likely", rank=rank, notes=notes)


def _waiting(seen: Evidence, waits: List[Hit]) -> Optional[Case]:
    """No bar is shown, but the ranks' own frames say that they waited for the main process to prepare the data."""
    if "waits-for-main" not in seen.words:
        return None
    notes = ("the ranks waited for the main process (main_process_first), which prepares the data alone",)
    return Case("dataset-preprocessing-timeout", ENDED, tuple(waits[:4]), "likely", rank=0, notes=notes)
