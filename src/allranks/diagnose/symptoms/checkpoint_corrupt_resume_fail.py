"""A checkpoint is broken or incomplete.

## How it is found
`PytorchStreamReader failed ... failed finding central directory`, `Ran out of input`, `invalid load key`,
`SafetensorError: ... incomplete metadata, file not fully covered` in a resume. Usually the rank
that owns the file prints it alone.

Easily confused with disk-full-checkpoint, which happens while saving; zero3-load-size-mismatch; base-unreadable.

## Why it matters
A file was cut off when it was saved or copied; resuming from it is impossible. The earlier cause is mostly
a full disk or a killed save.

## What to do
Resume from the checkpoint before it, or copy or download that file again; `allranks checkpoints verify
PATH` names the bad files.

## Source
PyTorch raises `PytorchStreamReader failed` in `caffe2/serialize/inline_container.cc`. safetensors raises
`HeaderTooLarge` and similar errors in `safetensors/src/tensor.rs`. CPython 3.11 raises `pickle data was
truncated` in `_pickle` and `File is not a zip file` in `zipfile.py`. transformers 5.6.0 raises `Can't find
a valid checkpoint at` in `trainer.py`. The other texts are as people posted them in public reports.

Topic: checkpoints
"""

from __future__ import annotations

from allranks.core.causes import PASSES, Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.symptom import CRASH, WEAK, Pattern
from allranks.diagnose.symptoms.base_unreadable import OF_SAFETENSORS
from allranks.diagnose.symptoms.dataset_file_missing_on_node import CAUSE as DATASET_FILE_MISSING_ON_NODE

CAUSE = Cause(__name__, restart=PASSES, explains=(DATASET_FILE_MISSING_ON_NODE,))
CLAIM = Claim(
    frame=(
        r"/torch/serialization\.py in|/safetensors/|/checkpoint\w{0,20}\.py in \w{0,20}load"
        r"|in (?:_|\w{1,40}_)?(?:load_(?:checkpoint|pretrain\w{0,8}|weights|ckpt|params?|model_weights"
        r"|optimizer\w{0,30}|from_checkpoint|rng_state)"
        r"|resume\w{0,30})$"
    ),
    needs_message=True,
    subject=r"(?i)^(?!.{0,400}(?:parallel|shard|world[_ ]?size|\btp\b|\bdcp\b))(?=.{0,400}(?:\bresum(?:e"
    r"|ing)\b|\brestor|\.ckpt\b"
    r"|checkpoint_last|\bfrom (?:the |a )?checkpoint|\blatest (?:file|checkpoint)|\boptimizer states?\b"
    r"|\btorch\.load"
    r"|\bckpts?/|/ckpt))(?=.{0,400}(?:\b(?:no|not|cannot|can't|fails?|failed|missing|corrupt|truncated"
    r"|incomplete|unable)\b|n't\b))"
    r"|\u6743\u91cd.{0,20}(?:\u52a0\u8f7d|\u5931\u8d25)|\u52a0\u8f7d.{0,20}(?:\u6743\u91cd|\bckpt)"
    r"|\u68c0\u67e5\u70b9|\u65ad\u70b9"
    r"|state[_ ]?dict|\boptimizer (?:states?|shards?)\b"
    r"|\bparam(?:eter)? groups?\b.{0,60}\b(?:size|missing|saved|match)|\bresum(?:e|ing)|\btorch\.load\b"
    r"|\bcheckpoint\b.{0,60}\b(?:damaged|corrupt\w{0,3}|truncated|incomplete|cannot be loaded)\b"
    r"|\bweights[_ ]only\b|\bunpickl",
    loose=r"(?i)checkpoint(?!ing)",
    code=(
        r"(?i)(?:checkpoint|ckpt|state_?dict|state|snapshot|pretrained|saved|weights"
        r"|resume\w{0,12})s?(?:_\w{1,20}|\d)?\["
        r"|\bload_(?:state_dict|pretrain\w{0,8}|checkpoint|ckpt|weights|model_weights)\(|\bsd\["
    ),
)
PATTERNS = (
    Pattern("failed finding central directory"),
    Pattern("PytorchStreamReader failed"),
    Pattern("Ran out of input"),
    Pattern("invalid load key"),
    Pattern("file is too short to be an sstable", weight=90),  # TensorFlow
    Pattern("not found in checkpoint", r"\bKey \S{1,200} not found in checkpoint", weight=90),
    Pattern("UnpicklingError", r"UnpicklingError(?!.{0,400}weights_only)", raised=True),
    Pattern("pickle data was truncated"),
    *(Pattern(words, weight=96) for words in OF_SAFETENSORS),
    Pattern("checkpoint file is corrupted", weight=90),
    Pattern("not an sstable", weight=90),
    Pattern("Checksum does not match", weight=86),
    Pattern("Bad CRC", r"BadZipFile", weight=86),
    Pattern("unexpected EOF", r"unexpected EOF, expected \d{1,12} more bytes"),
    Pattern("_legacy_load", weight=CRASH + 5, frame=("_legacy_load", "")),
    Pattern("pickle_module.load", weight=CRASH + 5),
    Pattern("not a ZIP archive", weight=90),
    Pattern("load weights from pytorch checkpoint file", weight=90),
    Pattern("File is not a zip file", weight=84),
    Pattern("load paths", r"Client provided checkpoint load paths: .{0,400} does not exist"),
    Pattern("find a valid checkpoint", r"Can't find a valid checkpoint at"),
    Pattern(
        "No such file or directory",
        r"(?:model_states|optim_states|rng_state_?\d{0,6}|scheduler|optimizer)\.(?:pt|bin|pth)",
        weight=90,
    ),
    Pattern("checkpoint", r"(?i)(?:checkpoint|resume).{0,80}\bdoes not exist", weight=WEAK, raised=True),
)
