"""The parallel layout does not fit the model or the number of GPUs.

## How it is found
`world size (*) is not divisible by tensor_model_parallel_size`, `num_attention_heads must be divisible by
tensor parallel size`, `number of experts … divisible`, `global batch size … is not divisible by micro
batch size`, `Invalid parallel dims`.

Easily confused with launch-args-mismatch, where fewer ranks started than the layout was made for;
deepspeed-config-mismatch.

## Why it matters
Tensor, pipeline, context and data parallelism must multiply to the number of GPUs, and heads, layers,
experts and batches must divide by them.

## What to do
Choose sizes whose product is the number of GPUs that the launch really started (`world size` in the log);
heads and key-value heads divisible by the tensor-parallel size, layers by the pipeline's, the global
batch by micro batch times data-parallel size.

## Source
Megatron-LM raises `world_size … is not divisible by` in `megatron/core/parallel_state.py` and `is not
divisible by` in `megatron/core/utils.py`. The other texts are as people posted them in public reports.

Topic: settings
"""

from __future__ import annotations

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.complaints import Complaint
from allranks.diagnose.symptom import CRASH, Pattern

CAUSE = Cause(__name__)
_OF_JOB = (
    r"(?:world[_ ]?size|parallel|ranks?\b|gpus?\b|devices?\b|nodes?\b|process(?:es)?\b|workers?\b|stages?\b|shards?\b"
    r"|nproc|\b[tpcdes]p\b|\b[tpcdes]p_|replicas?\b|batch[_ ]?size)"
)
"""A model's own sizes must fit each other, too. Only with one of these it is about the layout of a job."""
_DIVIDES = (
    rf"(?i)^[\w.]{{1,80}}(?:error|exception): (?:(?=.{{0,400}}{_OF_JOB}).{{0,200}}|.{{0,200}}(?:heads"
    r"|query[_ ]groups|experts|hidden_size|layers).{0,200}(?=(?:not|be) divisible by \(?\d))(?:not|be) divisible by"
)
CLAIM = Claim(
    frame=r"/parallel_(?:state|dims)\.py in|/torch/distributed/device_mesh\.py in|/deepspeed/utils/groups\.py in",
    subject=(
        r"(?i)(?:tensor|pipeline|context|sequence|expert"
        r"|data)[-_ ](?:model[-_ ])?parallel|\b(?:tp|pp|cp|ep|dp)(?:_size| size| degree)"
        r"|world[_ ]size|num(?:ber)?[_ ](?:of[_ ])?(?:gpus|devices|ranks)"
        r"|\b(?:tp|pp|cp|ep|dp|sp) ?(?:[>=]=|>|= ?\d{1,4} (?:and|but|does|is|>|\*|x)\b)|device_?mesh"
        r"|\w{1,20} parallelism"
    ),
    loose=(
        rf"(?i)^(?=.{{0,400}}(?:{_OF_JOB}|experts?\b|layers?\b|chunks?\b|seq|vocab|micro|accumul))"
        r".{0,400}?(?:divisible|\bequal chunks?\b|\bevenly\b|\bmultiple of)|% ?\w{1,40} ?(?:!=|==) ?0\b|\bmesh\b"
    ),
    settings=True,
)
COMPLAINT = Complaint(needs=rf"(?i){_OF_JOB}")
PATTERNS = (
    Pattern(
        "is not divisible by",
        r"^AssertionError: \d{1,9} is not divisible by \d{1,9}$",
        weight=CRASH + 4,
        raised=True,
    ),
    Pattern("divisible by", _DIVIDES, weight=95, raised=True),
    Pattern("Invalid parallel dims", weight=98),
)
