"""The base model's files are damaged, or not the same on every node.

## How it is found
`BaseUnreadable: Rank N (host) cannot read the base model: ...` and `BaseUnreadable: The base model that rank N reads
(host) is not the one that rank 0 reads`. allranks' own loader says so on every rank before the first step, with the
rank and the node that it is about (docs/loading.md).

Easily confused with tokenizer-or-model-file-missing, where no rank finds it; nfs-stale-or-io-error.

## Why it matters
A file is missing, cut short, damaged, or was replaced while it was read; or a node has an older copy. Ranks that read
different files would train a mixture of different models.

## What to do
Compare the named file with the head's (`sha256sum`), copy or download it again to the named node, and start again.
For `Input/output error`, `Stale file handle` or `timed out` look at the named node's `dmesg -T`, its disk and its link
first: allranks had tried each read four times. With `environment: {loader: stock}` every
value comes from rank 0's files instead of each node's own.

## Source
allranks' own loader raises both texts: `src/allranks/worker/base_loading.py`.

Topic: storage
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import STRONG, Pattern
from allranks.diagnose.symptoms.dataset_file_missing_on_node import CAUSE as DATASET_FILE_MISSING_ON_NODE
from allranks.diagnose.symptoms.tokenizer_or_model_file_missing import CAUSE as FILE_MISSING

CAUSE = Cause(__name__, explains=(DATASET_FILE_MISSING_ON_NODE, FILE_MISSING))
CLAIM = Claim(
    subject=(
        r"(?i)\b(?:model|weights?|safetensors)\b.{0,60}\b(?:hash|checksum|sha-?256)\b|\b(?:hash|checksum"
        r"|sha-?256)\b.{0,60}"
        r"\b(?:model|weights?|safetensors|shards?)\b|\bgit[- ]lfs\b|\b(?:model|weights?|safetensors"
        r"|gguf)\b.{0,40}\b(?:corrupt\w{0,3}"
        r"|truncated|damaged|incomplete)\b|\u6743\u91cd.{0,40}(?:\u635f\u574f|\u4e0d\u5b8c\u6574"
        r"|\u4e0d\u5168)"
        r"|\u6ca1\u4e0b\u8f7d\u5168|\u6ca1\u6709?\u4e0b\u8f7d\u5b8c"
    ),
)
PATTERNS = (
    Pattern(
        "cannot read the base model:",
        r"Rank \d{1,8} \(\S{0,80}\) cannot read the base model:",
        weight=STRONG + 1,
    ),
    Pattern("The base model that rank", r"that rank \d{1,8} reads \(", weight=STRONG + 1),
)
