"""Nothing is wrong.

## How it is found
Warnings that healthy runs print: `The client socket has failed to connect to [localhost]` (IPv6 is tried
first), `The hostname of the client socket cannot be retrieved. err=-3`, `Setting OMP_NUM_THREADS`, NCCL's
`No device found` and `ncclNetPlugin` not found, `Installed CUDA version * does not match ... accepting`;
then training steps.

Easily confused with a run that hangs or lost its machine without a message. If a log does not show the training's
end (`train_runtime`, `Training completed`), it may have been cut off, so that this cause is only likely.

## Why it matters
No line names an error that ended anything; healthy runs print the same warnings.

## What to do
Nothing.

## Source
NCCL 2.30.7 prints `Init COMPLETE` in `src/init.cc`. The other texts are as people posted them in public
reports.

Topic: training
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.fragments import ALONE
from allranks.diagnose.symptom import NOISE, Case, Hit, Pattern

_NOT_FINITE = re.compile(r"(?i)(?<![a-z])(?:nans?|inf(?:inity)?)(?![a-z])")
CAUSE = Cause(__name__, healthy=True, hearsay=True)
LOGGED = "the job says that it is done, but before that it logged exceptions: "
ON_THE_WAY = "it logged errors on the way: "
LAST_OF_ALL = "the log ends with the last of all steps, but no line says that the job ended: "
_EMPTY = re.compile(r"(?<![\d.])0it \[00:00|(?<![\d.,])0 (?:steps|batches|examples|samples|iterations)\b")
"""A step of a training without data."""
PATTERNS = (
    Pattern("process group ready", weight=NOISE),
    Pattern("Init COMPLETE", weight=NOISE),
)


def judge(seen: Evidence) -> Optional[Case]:
    """Progress, and no rank that ended with an error; any other case outweighs it."""
    started = seen.hits.get("benign-noise", [])
    if not (seen.steps or seen.is_finished or started) or seen.failed:
        return None
    # A heading may name a step: "the loss is nan after step 20".
    if seen.count <= ALONE and seen.last_step is not None and _NOT_FINITE.search(seen.last_step[1].text):
        return None
    hits = list(started[:1])
    if seen.last_step is not None:
        order, line = seen.last_step
        hits.insert(0, Hit("benign-noise", NOISE, line, order, seen.now(line), seen.steps))
    logged = seen.logged if seen.ended_well else []
    notes = (LOGGED + "; ".join(dict.fromkeys(one.line.text for one in logged[-3:])),) if logged else ()
    is_empty = seen.last_step is not None and _EMPTY.search(seen.last_step[1].text) is not None
    sure = "certain" if seen.ended_well and not (logged or is_empty) else "likely"
    if sure == "certain":
        streams = (*seen.ranks.values(), *seen.streams.values())
        stated = [one.raised for stream in streams for one in stream.stated if one.sure]
        errors = sorted((*stated, *(one for _, one in seen.raised())), key=lambda one: one.order)
        told = "; ".join(dict.fromkeys(one.line.text for one in errors[-3:]))
        notes = (ON_THE_WAY + told,) if told else ()
    elif not logged and seen.last_of_all:
        notes = (LAST_OF_ALL + seen.last_of_all.text.strip(),)
    return Case("benign-noise", NOISE, tuple(hits), sure, notes=notes)
