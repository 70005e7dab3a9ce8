"""An AWS Neuron device or its runtime failed.

## How it is found
`nrt_init` or `NRT_*` errors, `NEURON_RT`, `NRT:nrt_allocate_neuron_cores`, `NRT_EXEC_HW_ERR`, `NCC_*`
from neuronx-cc.

Easily confused with cuda-oom, whose counterpart here is `NRT_RESOURCE`.

## Why it matters
The Neuron runtime could not take its cores, a device failed, or the compiler rejected the graph.

## What to do
`neuron-ls` and `neuron-top` show who holds the cores (`NEURON_RT_NUM_CORES`, `NEURON_RT_VISIBLE_CORES`); often a
leftover process does. `NRT_EXEC_HW_ERR` means that the device failed: replace the instance. If the compiler reports the
error, install versions of torch-neuronx and neuronx-cc that belong together.

## Source
The AWS Neuron documentation lists the status codes `NRT_…` in `neuron-runtime/api/nrt_status.rst` (2.29.0).
The other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import WEAK, Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(subject=r"(?i)\bneff\b|\bneuronx?[-_]cc\b|\bNEURON_CC")
COMPLAINT = Complaint(
    subject=(
        r"\b(?:NRT\w{0,40}|nrt_\w{2,40}|[Nn]euron\w{0,20}|neuronx?-?cc|WalrusDriver|NEFF|neff|nrtd|NRTD|TDRV|trn\d\w{0,4}"
        r"|inf2|nccom"
        r"|libnccom|NERR\w{0,30}|Trainium|CCOM|ENC(?=:\w)|NMGR|KMGR)\b"
    ),
)
PATTERNS = (
    Pattern("NRT", r"\bNRT_(?!SUCCESS)[A-Z_]{3,40}|ERROR.{0,80}\bNRT:", weight=94),
    Pattern("nrt_init", r"(?i)nrt_init.{0,80}(?:fail|error|returned)", weight=94),
    Pattern("nrt_", r"\bnrt_\w{3,60} status=[1-9]", weight=94),
    Pattern("nrt_allocate_neuron_cores", weight=94),
    Pattern("neuronx-cc", r"neuronx-cc.{0,600}(?:terminated abnormally|failed|returned non-zero)", weight=94),
    Pattern("TDRV", r"ERROR.{0,40}TDRV:", weight=92),
    Pattern("CCOM WARN", r"CCOM WARN (?!NET/OFI).{0,120}(?i:time-?d? ?out|fail|unable|could)", weight=WEAK),
)
