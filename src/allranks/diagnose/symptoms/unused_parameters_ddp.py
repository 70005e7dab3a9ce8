"""DDP waits for gradients of parameters that were not used.

## How it is found
`Expected to have finished reduction in the prior iteration before starting a new one`, with the indices of
the parameters that got no gradient.

Easily confused with gradient-checkpointing-reentrant-lora.

## Why it matters
DDP reduces every parameter's gradient; one that a rank did not use stops the next step.

## What to do
find_unused_parameters=True, or freeze what is never used, or use every branch on every rank.

## Source
`finished reduction in the prior iteration` and `did not receive grad` are in `libtorch_cpu.so` of PyTorch
2.13.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    subject=r"(?i)(?<![a-z])unused[_ ]param|\b(?:parameters?|layers?|weights?)\b.{0,60}\b(?:no"
    r"|without|not (?:get|receive)\w{0,2}) (?:a |any )?grad"
    r"|(?:not|n't) (?:take part|contribute|participate) .{0,20}\b(?:loss|forward|backward)\b"
    r"|\bparameters? (?:\w{1,12} ){0,4}(?:un|not )used"
)
PATTERNS = (
    Pattern("did not get gradient", r"did not get gradient i", weight=WEAK),
    Pattern("finished reduction in the prior iteration"),
    Pattern("did not receive grad", r"which did not receive grad(?: for rank (?P<rank>\d{1,7}))?"),
)
