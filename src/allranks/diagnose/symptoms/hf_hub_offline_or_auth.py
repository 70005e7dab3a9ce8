"""The hub cannot be reached or refuses.

## How it is found
`We couldn't connect to 'https://huggingface.co'`, `Cannot access gated repo`, `401 Client Error`, `403
Client Error`, `LocalEntryNotFoundError`, `OfflineModeIsEnabled`.

Easily confused with tokenizer-or-model-file-missing, where the name is a path.

## Why it matters
That node cannot reach the hub, or has no token with access: the model or data set cannot be loaded there.

## What to do
Fetch it once onto shared storage and set HF_HUB_OFFLINE=1, or give the token (`secrets: [HF_TOKEN]`) and
accept the model's terms.

## Source
huggingface_hub 1.33.0 defines `GatedRepoError`, `RepositoryNotFoundError`, `LocalEntryNotFoundError` and
`OfflineModeIsEnabled` in `errors.py` and `hf_raise_for_status` in `utils/_http.py`. transformers 5.6.0
raises `We couldn't connect to` in `utils/hub.py`. Python prints `urlopen error` in `urllib/error.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import Pattern
from allranks.diagnose.symptoms.dataset_file_missing_on_node import CAUSE as DATASET_FILE_MISSING_ON_NODE
from allranks.diagnose.symptoms.hostname_resolution import CAUSE as HOSTNAME_RESOLUTION
from allranks.diagnose.symptoms.tokenizer_or_model_file_missing import (
    CAUSE as TOKENIZER_OR_MODEL_FILE_MISSING,
)

CAUSE = Cause(
    __name__,
    explains=(
        TOKENIZER_OR_MODEL_FILE_MISSING,
        DATASET_FILE_MISSING_ON_NODE,
        HOSTNAME_RESOLUTION,
    ),
)
CLAIM = Claim(
    frame=r"/huggingface_hub/|/datasets/(?:utils/file_utils|download/)|/modelscope/hub/",
    subject=r"(?i)hugging ?face(?:\.co|_hub)|\bhugging ?face\b.{0,60}\b(?:down|unreachable|log ?in|token"
    r"|offline|server|connect\w{0,4})\b"
    r"|\b(?:download|connect|reach|log ?in|access)\w{0,4}\b.{0,60}\bhugging ?face\b"
    r"|\bfiles in the cached path\b\bthe hub\b|repo(?:sitory)?[_ ]id"
    r"|\bis (?:a )?gated\b|\bgated (?:repo\w{0,6}|models?|datasets?)\b"
    r"|\baccess to (?:the )?(?:model|dataset|repo\w{0,6})\b.{0,200}\b(?:restricted|denied|refused)"
    r"|\b(?:hf|huggingface|access|auth\w{0,12})[_ -]tokens?\b|\b(?:not|please"
    r"|must) (?:be )?log(?:ged)? ?in\b",
    settings=True,
)
COMPLAINT = Complaint(
    subject=(
        r"(?i)hugging ?face|hf-mirror|hf\.co|\bhf_(?:hub|transfer|xet)|\bxet\b|\bmodelscope"
        r"|\b(?:4(?:0[1349]|29)) client error|\bthe hub\b"
    ),
    needs=(
        r"(?i)hugging|(?<![a-z])hub\b|\bhf\b|\bhf[._-]|modelscope|/(?:transformers|datasets|timm)/|gated|download"
        r"|offline|from_pretrained|repo(?:sitory)?[_ ]?id|\b(?:40[13]|429)\b"
    ),
)
PATTERNS = (
    Pattern("connect to", r"couldn't connect to '?https://(?:huggingface\.co|hf-mirror|www\.modelscope)"),
    Pattern("gated repo"),
    Pattern("Local entry not found", weight=95),  # the program `hf`
    Pattern("requested files in the cached path", weight=95),  # transformers 4
    Pattern("is awaiting a review from the repo", weight=95),
    Pattern(
        "URLError",
        r"(?i)(?:download|urlopen).{0,200}https?://(?!(?:localhost|127\.|10\.|192\.168\.))",
        weight=90,
        raised=True,
    ),
    # Python's own client of HTTP, by which torch.hub and many scripts download.
    # A service of the user refuses a connection, and the hub hardly ever.
    Pattern("urlopen error", r"URLError: <urlopen error (?!.{0,20}refused)", weight=80, raised=True),
    Pattern(
        "Couldn't reach", r"Couldn't reach (?:https?://|'[\w.-]{1,80}/[\w.-]{1,80}' on the Hub)", weight=95
    ),
    Pattern("Access to model", r"Access to model \S{1,200} is restricted", weight=95),
    Pattern(
        "Client Error",
        r"4(?:0[1349]|29) Client Error.{0,200}(?:huggingface|hf\.co|hf-mirror|modelscope)",
        weight=95,
    ),
    Pattern("LocalEntryNotFoundError"),
    Pattern("OfflineModeIsEnabled"),
    Pattern("GatedRepoError"),
    Pattern("RepositoryNotFoundError", weight=95),
    Pattern(
        "huggingface.co",
        r"(?:ConnectionError|MaxRetryError|Max "
        r"retries|ConnectTimeout|ReadTimeout|NameResolutionError|SSLError|ProxyError)",
        weight=95,
    ),
    Pattern("hf-mirror", r"(?:Max retries|MaxRetryError|ProxyError|SSLError|ConnectTimeout)", weight=95),
    Pattern("hf_raise_for_status", weight=84, frame=("hf_raise_for_status", "")),
    Pattern("Consistency check failed", weight=90),
    Pattern("huggingface_hub", r"Invalid user token|HfHubHTTPError", weight=95),
    Pattern("outgoing traffic has been disabled", weight=95),
)
