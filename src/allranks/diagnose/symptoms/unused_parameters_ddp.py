"""DDP waits for gradients of parameters that were not used

## What is seen
`Expected to have finished reduction in the prior iteration before starting a new one`, with the indices of
the parameters that got no gradient.

## Why it matters
DDP reduces every parameter's gradient; one that a rank did not use stops the next step.

## What to do
find_unused_parameters=True, or freeze what is never used, or use every branch on every rank.

## Confused with
gradient-checkpointing-reentrant-lora.
"""

from __future__ import annotations

from allranks.diagnose.symptom import Pattern

ROLE = "P"
EXPLAINS = ("rank-crashed-first", "nccl-remote-process-exited")
PATTERNS = (
    Pattern("finished reduction in the prior iteration"),
    Pattern("did not receive grad", r"Parameter indices which did not receive grad", weight=90),
)

FIRES = (
    "[rank0]: Traceback (most recent call last):\n[rank0]: RuntimeError: "
    "Expected to have finished reduction in the prior "
    "iteration before starting a new one.\n",
)
SILENT = ("[rank0] find_unused_parameters=True was specified in DDP constructor\n[rank0] step 1 loss 3\n",)
