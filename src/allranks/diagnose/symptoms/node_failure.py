"""A node failed.

## How it is found
`srun: error: Node failure on <host>`, `DUE TO NODE FAILURE` (the host after ON in that line is the batch
host, not the failed one), Ray's `marked dead because the detector has missed too many heartbeats`.

Easily confused with peer-node-network-broken, where the machine lives.

## Why it matters
The machine or its daemon is gone, and every rank on it; the others lost their peers.

## What to do
Look at the node (power, kernel log, BMC, network), leave it out, and resume from the last verified
checkpoint.

## Source
SLURM 26.11.0-0rc1 prints `Node failure on` in `src/api/step_launch.c` and `src/salloc/salloc.c`. `marked
dead because the` is in `gcs_server` of Ray 2.60.0; Ray defines `NodeDiedError` in `exceptions.py`. The
other texts are as people posted them in public reports.

Topic: ends
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.slurm_preempt_or_timeout import CAUSE as SLURM_PREEMPT_OR_TIMEOUT

CAUSE = Cause(__name__, restart=PASSES, explains=(SLURM_PREEMPT_OR_TIMEOUT,))
PATTERNS = (
    Pattern("Node failure on", r"Node failure on (?P<node>[\w.-]{1,80})"),
    Pattern("DUE TO NODE FAILURE"),
    Pattern("marked dead because the", r"because the (?:detector|monitor|raylet) has missed"),
    Pattern("NODE_FAIL", weight=90),
    Pattern(
        "communication with remote daemon", r"ORTE has lost communication with a remote daemon", weight=90
    ),
    Pattern("NodeDiedError", weight=90),
)
