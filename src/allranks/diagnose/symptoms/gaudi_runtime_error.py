"""A Gaudi device or its runtime failed.

## How it is found
`synStatus=26 [Generic failure]`, `Device acquire failed`, `synapse_error`, `HCL … error`,
`hcclCommInitRank`, `Graph compile failed`.

Easily confused with ascend-hccl-error: Ascend's library has the name HCCL too.

## Why it matters
The Habana runtime could not take a device, a graph did not compile, or the scale-out ports are down.

## What to do
`hl-smi` shows devices and who holds them; the driver, firmware and SynapseAI of all nodes must be one release; the
ports must be up (`hl-smi -n link`). `ENABLE_CONSOLE=true LOG_LEVEL_ALL=3` shows which component failed.

## Source
`Graph compile failed` is in Intel's guide for Gaudi, docs.habana.ai, PyTorch Model Troubleshooting. The
other texts are as people posted them in public reports.

Topic: gpus
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.ascend_hccl_error import CAUSE as ASCEND_HCCL_ERROR

CAUSE = Cause(__name__, explains=(ASCEND_HCCL_ERROR,))
COMPLAINT = Complaint(
    subject=(
        r"\b(?:[Hh]abana\w{0,30}|Gaudi\d?|gaudi\d?|[Ss]ynapse\w{0,20}|hl-smi|hl-thunk|hlthunk\w{0,20}"
        r"|HPUs?|hpu\w{0,20}|HCL|hcl(?:_\w{2,30})?|syn[A-Z]\w{3,40})\b"
    ),
)
PATTERNS = (
    Pattern("synStatus", r"synStatus\s{0,2}=?\s{0,2}(?!0\b|synSuccess)\w{1,40}", weight=94),
    Pattern("Device acquire failed", weight=94),
    Pattern("Habana exception raised", weight=94),
    Pattern("MODULE:PT_", r"FATAL ERROR :: MODULE:PT_", weight=92),
    Pattern("synapse_error", weight=94),
    Pattern("Graph compile failed", weight=92),
    Pattern("habana_frameworks", r"(?i)habana_frameworks.{0,200}hccl", weight=92),
    Pattern("process_group_hccl", weight=92),
    Pattern("nonSFG is not supported", weight=94),
    Pattern(
        "habanalabs",
        r"habanalabs.{0,120}(?:heartbeat fail|hard-reset|is not operational|device is dead)",
        weight=94,
    ),
    Pattern("habana_frameworks", r"(?i)habana_frameworks.{0,200}error", weight=60),
)
