"""An experiment tracker stopped the training.

## How it is found
`wandb.errors.CommError`, `wandb.errors.UsageError: api_key not configured (no-tty)`, `Run initialization
has timed out after * sec`, `mlflow.exceptions.MlflowException: API request … failed`, the same of comet,
neptune, swanlab, clearml.

Easily confused with hf-hub-offline-or-auth, which is the model's host.

## Why it matters
The tracker could not reach its server or has no key on the rank that reports, and its exception ended that rank; the
other ranks lost their peer.

## What to do
`WANDB_MODE=offline` (or `report_to: none`) starts at once. For online: the key on the node that reports
(an environment file, never the command line), the proxy, `WANDB_INIT_TIMEOUT`. Only rank 0 should report.

## Source
wandb defines `CommError` and `UsageError` in `wandb/errors/errors.py`. The other texts are as people posted
them in public reports.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/(?:wandb|mlflow|comet_ml|swanlab|neptune|clearml|aim|dvclive|trackio)/",
    subject=r"(?i)\b(?:wandb|mlflow\w{0,12}|comet_ml|comet\.(?:ml|com)|swanlab|neptune|clearml)\b"
    r"|weights ?(?:&|and) ?biases",
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)\b(?:wandb|weights (?:&|and) biases|mlflow|comet(?:_ml|\.com)?|neptune|clearml|swanlab|trackio"
        r"|aim)\b|(?:wandb|mlflow)\w{1,20}\b"
    ),
)
_TRACKERS = r"(?i)HTTPS?ConnectionPool\(host=.{0,300}(?:wandb|mlflow|comet|neptune|clearml|swanlab|trackio)"
PATTERNS = (
    Pattern("HTTPConnectionPool", _TRACKERS, weight=96),
    Pattern("HTTPSConnectionPool", _TRACKERS, weight=96),
    Pattern("requires an API key", r"(?i)comet|neptune|wandb|clearml|swanlab", weight=96, raised=True),
    Pattern("communicating with wandb process", weight=98),
    Pattern(
        "wandb",
        r"wandb\.(?:\w{1,30}\.){0,4}(?:\w{0,40}Error|\w{0,40}Exception)\b",
        raised=True,
        weight=98,
    ),
    Pattern("api_key not configured", weight=98),
    Pattern("wandb backend process has shutdown", weight=96),
    Pattern("waiting for wandb service to start", weight=98),
    Pattern("Run initialization has timed out", weight=98),
    Pattern("MlflowException", r"(?i)API request|HTTP|connect|timed out|RESOURCE", raised=True, weight=98),
    Pattern("comet_ml", r"comet_ml\.\w{1,40}.{0,80}(?:Error|Exception)", raised=True, weight=94),
    Pattern(
        "neptune",
        r"neptune\.(?:\w{1,30}\.){0,4}\w{0,40}(?:Error|Exception|Unavailable)",
        raised=True,
        weight=94,
    ),
    Pattern("swanlab", r"swanlab\.(?:\w{1,30}\.){0,4}\w{0,40}(?:Error|Exception)", raised=True, weight=94),
)
