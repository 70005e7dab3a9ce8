"""The base model's files are damaged, or not the same on every node.

## How it is found
`BaseUnreadable: Rank N (host) cannot read the base model: ...` and `BaseUnreadable: The base model that rank N reads
(host) is not the one that rank 0 reads`. allranks' own loader says so on every rank before the first step, with the
rank and the node that it is about (docs/loading.md). Also safetensors' own `HeaderTooLarge`, `incomplete metadata, file
not fully covered` and the like, unless the traceback is of a resume.

Easily confused with tokenizer-or-model-file-missing, where no rank finds it; nfs-stale-or-io-error;
checkpoint-corrupt-resume-fail.

## Why it matters
A file is missing, cut short, damaged, or was replaced while it was read; or a node has an older copy. Ranks that read
different files would train a mixture of different models.

## What to do
Compare the named file with the head's (`sha256sum`), copy or download it again to the named node, and start again.
For `Input/output error`, `Stale file handle` or `timed out` look at the named node's `dmesg -T`, its disk and its link
first: allranks had tried each read four times. With `environment: {loader: stock}` every
value comes from rank 0's files instead of each node's own.

## Source
allranks' own loader raises its texts: `src/allranks/worker/base_loading.py`. safetensors raises the others in
`safetensors/src/tensor.rs`.

Topic: storage
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import STRONG, Case, Hit, Pattern
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
OF_SAFETENSORS = (
    "file not fully covered",
    "while deserializing header",
    "HeaderTooLarge",
    "HeaderTooSmall",
    "InvalidHeaderLength",
    "InvalidHeaderStart",
    "MetadataIncompleteBuffer",
    "InvalidHeaderDeserialization",
)
"""How safetensors refuses a file (`safetensors/src/tensor.rs`). It does not name the file."""
PATTERNS = (
    Pattern("is not a safetensors file", weight=90, raised=True),
    Pattern(
        "cannot read the base model:",
        r"Rank \d{1,8} \(\S{0,80}\) cannot read the base model:",
        weight=STRONG + 1,
    ),
    Pattern("The base model that rank", r"that rank \d{1,8} reads \(", weight=STRONG + 1),
    *(Pattern(words, weight=97) for words in OF_SAFETENSORS),
)
_OF_MODEL = re.compile(
    r"/(?:transformers|tokenizers|diffusers|peft)/(?!trainer)[\w/]{1,80}\.py\", line \d{1,6}, in "
    r"\w{0,40}(?:from_pretrained|from_json|load|read|config)\w{0,40}$"
)
"""A frame of a library that reads a model's own files in JSON: `config.json`, `tokenizer.json`, `vocab.json`."""
_OF_CHECKPOINTS = re.compile(
    r"(?i)checkpoint-?\d|load_(?:best|from_checkpoint|optimizer|adapter)|resum|global_step"
)


def judge(seen: Evidence) -> Optional[Case]:
    """A damaged safetensors file belongs to a checkpoint instead if the traceback or a path says so."""
    case = seen.case("base-unreadable") or _broken_json(seen)
    if case is None or case.weight > STRONG:
        return case
    lines = {hit.order for hit in case.hits}
    told = [hit.line.text for hit in case.hits]
    told += [frame for _, raised in seen.raised() if raised.order in lines for frame in raised.frames]
    return None if any(map(_OF_CHECKPOINTS.search, told)) else case


def _broken_json(seen: Evidence) -> Optional[Case]:
    """A model's file in JSON that ends too early or is damaged. The exception does not name it."""
    told = [
        Hit("base-unreadable", 90, one.line, one.order, one.at, one.steps)
        for _, one in seen.raised()
        if one.kind == "JSONDecodeError" and any(map(_OF_MODEL.search, one.frames)) and not seen.survived(one)
    ]
    return Case("base-unreadable", 90, tuple(told[:4]), "likely") if told else None
