"""A checkpoint does not fit this model or layout.

## How it is found
torch's `Error(s) in loading state_dict for`, `Missing key in checkpoint state_dict`, `Size mismatch between saved`,
Megatron's `CheckpointingException`, `Global shape mismatch for loaded (…) and expected`, `does not match … sharded
tensor`,
DeepSpeed's `The checkpoint being loaded used a DP world size of * but the current world size is *`. Or a rank
other than 0 does not find its own part of a checkpoint (`ckpt/data_rank2.pt`), and rank 0 finds its own.

Easily confused with checkpoint-corrupt-resume-fail, where files are broken or missing;
zero3-load-size-mismatch.

## Why it matters
The checkpoint was saved by another parallel layout, model size, vocabulary padding or library version
than the run that loads it.

## What to do
Build the model as the run that saved it did: the number of classes, the vocabulary, wrappers such as `module.`. Start
with that run's layout, or convert: Megatron `--ckpt-format torch_dist` with `--ckpt-convert-format`, DeepSpeed's
universal checkpoint (`ds_to_universal.py`), torch's `dcp_to_torch`. Compare `--make-vocab-size-divisible-by` and the
tensor-parallel size.

## Source
PyTorch 2.13 raises `Missing key in checkpoint state_dict` and `Size mismatch between saved` in
`torch/distributed/checkpoint/default_planner.py`, and `Error(s) in loading state_dict for` in
`torch/nn/modules/module.py`. DeepSpeed 0.19.8 raises `The checkpoint being loaded used a DP` in
`runtime/engine.py`, Megatron-LM `Global shape mismatch` in `strategies/torch.py`.

Topic: checkpoints
"""

from __future__ import annotations

from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import CRASH, Case, Hit, Pattern

CAUSE = Cause(__name__)
CLAIM = Claim(
    frame=r"/torch/distributed/checkpoint/|/dist_checkpointing/|/deepspeed/checkpoint/|/orbax/|/tensorstore/",
    subject=r"(?i)^(?=.{0,400}(?:\bcheck ?points?\b|\bckpts?\b|state[_ ]?dict))"
    r"(?=.{0,400}(?:\b(?:tensor|pipeline|model|data|expert|context)[- _]?parallel|\b(?:tp|pp|ep|cp|3d)\b"
    r"|world[_ ]?size"
    r"|\b(?:re)?shard|different (?:number of )?(?:gpus?|ranks?|nodes?|world|parallel|layout)|multiple nodes"
    r"|\bdcp\b"
    r"|tensor-volume|flat[_ ]param|\bfsdp|\bzero))|tensor-volume"
    r"|dist(?:ributed)?[_ -]ck?(?:he)?c?kp(?:oin)?t|sharded[_ ]state|universal[_ ]checkpoint",
)
PATTERNS = (
    Pattern("CheckpointingException", weight=96),
    Pattern("CheckpointException", r"^[\w.]{0,80}CheckpointException: ", raised=True, weight=72),
    Pattern("Global shape mismatch"),
    Pattern(
        "which has shape",
        r"of shape torch\.Size\(\[[1-9].{0,80}which has shape torch\.Size\(\[[1-9]",
        weight=84,
    ),
    Pattern("is not equal to the input argument value", r"value from checkpoint", weight=96),  # Megatron-LM
    Pattern("Missing key in checkpoint state_dict"),
    Pattern(
        "has different values for",
        r"Rank (?P<rank>\d{1,7}) has different values for .{1,400}Other ranks: ",
        weight=84,
    ),  # FSDP's optimizer state
    Pattern("Size mismatch between saved", weight=98),
    Pattern("checkpoint being loaded used a DP world size"),
    Pattern("Unexpected key", r"Unexpected key\(s\) in checkpoint", weight=92),
    Pattern("loading state_dict for", r"Error\(s\) in loading state_dict for", raised=True, weight=84),
    Pattern(
        "ignore_mismatched_sizes",
        r"set `ignore_mismatched_sizes` to `False`, thus raising",
        raised=True,
        weight=84,
    ),  # transformers 5
    Pattern(
        "size mismatch for",
        r"size mismatch for [\w.]{1,200}: copying a param with shape torch\.Size\(\[[1-9]",
        weight=84,
    ),
    Pattern(
        "No such file or directory",
        r"FileNotFoundError: .{0,40}['\"](?=[^'\"]{0,300}(?:[Cc]heckpoint|ckpt|state|resume|step))"
        r"[^'\"]{0,300}rank[_-]?(?P<own>\d{1,6})[^'\"/]{0,60}['\"]",
        weight=CRASH + 6,
        raised=True,
    ),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The part of a checkpoint that a rank misses must be its own, and rank 0 must not miss one: then fewer ranks saved
    than load."""
    case = seen.case("distributed-checkpoint-mismatch")
    missed = {_part(hit) for hit in case.hits} - {None} if case is not None else set()
    if case is None or not missed:
        return case
    own = 0 not in missed
    hits = tuple(h for h in case.hits if _part(h) is None or (own and _part(h) == seen.rank_of(h.line)))
    return case._replace(hits=hits, weight=max(hit.weight for hit in hits)) if hits else None


def _part(hit: Hit) -> Optional[int]:
    told = hit.group("own")
    return int(told) if told is not None else None
