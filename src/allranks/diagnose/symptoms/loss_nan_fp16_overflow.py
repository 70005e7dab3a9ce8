"""The loss is NaN or the fp16 scale ran out.

## How it is found
`Current loss scale already at minimum - cannot decrease scale anymore`, after many `OVERFLOW! Rank *
Skipping step`; or losses or gradient norms that are NaN step after step. On all ranks.

Easily confused with a few OVERFLOW lines at the start, which are harmless: they are the search for the loss scale.

## Why it matters
fp16 cannot hold these numbers: every step is skipped, and the model learns nothing.

## What to do
bf16 instead of fp16 (A100 and newer have it), a smaller learning rate, gradient clipping; look at the batch
of the first bad step.

## Source
DeepSpeed 0.19.8 raises `loss scale already at minimum` in `runtime/fp16/loss_scaler.py`. Megatron-LM raises
`in local forward loss` in `pretrain_gpt.py` and `in local grad norm` in
`megatron/core/distributed/param_and_grad_buffer.py`. The other texts are as people posted them in public
reports.

Topic: training
"""

from __future__ import annotations

import re
from typing import Optional

from allranks.core.causes import Cause
from allranks.diagnose.claims import Claim
from allranks.diagnose.differences import only_one_differs
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.progress import ROW
from allranks.diagnose.survival import LATER_STEPS
from allranks.diagnose.symptom import CRASH, STRONG, WEAK, Case, Pattern

CAUSE = Cause(__name__, outlasts_the_end=True)
BAD_STEPS = 3
OF_MANY = WEAK - 1
"""A line that proves nothing alone, apart from all that only mention such a number."""

_LOSS = r"(?i)(?:\b|_)loss(?:es|_\w{1,12})?['\"]?\s{0,12}[:=]?\s{0,12}(?:['\"]|tensor\()?-?(?:nan|inf)\b"
_NORM = r"(?i)\bgrad[_ ]norm(?:['\"]?\s{0,3}[:=]| is)\s{0,3}['\"]?nan\b"
_ROW = rf"^(?=.{{0,200}}\bnan\b){ROW.pattern}"
# Below 1 in 256 nothing is left to halve.
_FLOOR = (
    r"(?i)loss scale to:? {0,3}(?:0\.00|[\d.]{1,20}e-)|loss scale: [01](?:\.0)?, reducing to [01](?:\.0)?\b"
    r"|loss scale .{0,20}\b(?:reached|hit|at) .{0,12}\bmin"
)
_SKIPPED = re.compile(r"(?i)\b(?:skip(?:s|ped|ping)?|dropp(?:ed|ing)|ignor(?:ed|ing))\b")
"""The training goes on without such a step."""
_OF_A_STEP = re.compile(f"{_LOSS}|{_NORM[4:]}")
_BAD = (
    r"^(?!.{0,400}\b(?:columns?|rows?|merge|csv|data ?frames?|pandas|missing values?|nan to int\w{0,4}|(?:np"
    r"|numpy)\.nan|fillna"
    r"|dropna)\b)"
    r"(?=.{0,400}(?:(?<![\w.])nans?(?![\w(]|\.\w)|\bnon-?finite\b|\binfinite\b|\bnot finite\b"
    r"|(?<![\w.])-?inf(?:inity)?\b))"
    r"(?=.{0,400}(?:loss|grad|train|param|weight|output|logit|predict|prob|epoch|\bstep|iter|batch|learning"
    r"|norm"
    r"|activation|attention|soft ?max|tensor|encounter|detect|found|diverg|backward|forward|layer"
    r"|sampl|\bloc\b"
    r"|reward|scale|fp16|half|amp\b|errors?\b|\bnan (?:or|and|/) ?inf))"
)
"""A number that is none, of those that a training computes."""

CLAIM = Claim(
    frame=r"/apex/amp/scaler\.py in|/loss_scaler\.py in update_scale"
    r"|/torch/distributions/\w{1,40}\.py in __init__",
    subject=(
        rf"(?i){_BAD}|\bloss[ _-]?scal(?:e|er|ing)\b|\bgrad\w{{0,20}}[ _]overflow|\binvalid loss\b"
        r"|\b(?:loss|gradients?|fp16|bf16|bfloat16|float16|half|training|amp)\b.{0,40}\boverflow"
        r"|\boverflow\w{0,4}\b.{0,40}"
        r"\b(?:loss|grad\w{0,6}|fp16|bf16|bfloat16|float16|training|amp)\b"
        r"|\b(?:loss|training|model|gradients?|it) (?:\w{1,12} )?(?:diverge[sd]?|explode[sd]?|exploding)\b"
        r"|\b(?:over|under)flow (?:\w{1,12} ){0,3}(?:fp16|half|gradients?)\b"
    ),
)
PATTERNS = (
    Pattern(
        "wandb",
        r"^wandb:\s{1,40}\S{0,60}loss\S{0,40}\s{1,40}(?i:nan|-?inf(?:inity)?)\s{0,40}$",
        weight=STRONG - 2,
    ),  # its summary
    Pattern("loss scale already at minimum"),
    Pattern("probability tensor contains", r"either `?inf`?, `?nan`?", weight=88),  # torch.multinomial
    *(
        Pattern(
            word,
            r"(?i)\bloss(?:es)?,? (?:is|are|was|became) .{0,20}(?:nan|inf|not finite).{0,40}\b(?:stop|abort"
            r"|exit|quit)",
            weight=90,
        )
        for word in ("Loss", "loss", "Losses")
    ),
    Pattern("nan", _LOSS, weight=OF_MANY),
    Pattern("nan", _NORM, weight=OF_MANY),
    Pattern("nan", _ROW, weight=OF_MANY),
    Pattern("NaN", _LOSS, weight=OF_MANY),
    Pattern("inf", _LOSS, weight=OF_MANY),
    *(
        Pattern(word, f"(?i){_BAD}", weight=CRASH + 8, raised=True)
        for word in ("nan", "NaN", "Nan", "NAN", "inf", "Inf", "finite")
    ),
    Pattern("FloatingPointError", weight=CRASH + 8, raised=True),
    Pattern("NanLossDuringTrainingError", weight=CRASH + 8),  # TensorFlow
    Pattern("found in input tensor", r"\bNaN or Inf", weight=OF_MANY),  # TensorBoard's writer
    Pattern("loss scale", _FLOOR, weight=OF_MANY),
    Pattern(
        "detected in output of", r"(?:NaN|Inf) detected in", weight=CRASH - 10
    ),  # fairseq, before it raises
    Pattern("Invalid loss, terminating training", weight=STRONG - 2),  # Keras
    Pattern("Model diverged with loss", weight=STRONG - 2),  # TensorFlow
    Pattern("FoundNan", weight=OF_MANY),
    Pattern("Minimum loss scale reached"),
    Pattern("in local forward loss", r"found (?:NaN|Inf)"),
    Pattern("in local grad norm", r"found (?:NaN|Inf)"),
)


def judge(seen: Evidence) -> Optional[Case]:
    """The rank whose data hold a number that is NaN, infinite or extreme, if it prints that at its start."""
    case = _by_lines(seen)
    other = only_one_differs(seen) if case is not None else None
    if case is None or other is None or not other.is_extreme:
        return case
    return case._replace(rank=other.rank, notes=(*case.notes, other.note))


def _by_lines(seen: Evidence) -> Optional[Case]:
    """NaN steps are progress lines, so no later step clears them; one of them alone proves nothing. A gradient that is
    NaN now and then is a step that the loss scaler skipped: only if the last step has one, too, it counts."""
    hits = seen.hits.get("loss-nan-fp16-overflow", [])
    strong = [h for h in hits if h.weight > CRASH or (h.weight > WEAK and not seen.survived(h))]
    floor = [h for h in hits if re.search(_FLOOR, h.line.text) and not seen.survived(h)]
    hits = [h for h in hits if h.weight == OF_MANY and not _SKIPPED.search(h.line.text)]
    if strong:
        weight = max(h.weight for h in strong)
        return Case(
            "loss-nan-fp16-overflow", weight, tuple(strong), "certain" if weight >= STRONG else "likely"
        )
    if floor:
        return Case("loss-nan-fp16-overflow", WEAK, tuple(floor), "likely")
    losses = [h for h in hits if re.search(f"{_LOSS}|{_ROW}", h.line.text)]
    last = seen.last_step[1].text if seen.last_step is not None else ""
    if (re.search(_LOSS, last) and re.search(_NORM, last)) or (
        hits and re.match(_ROW, last)
    ):  # the last step of all
        return Case("loss-nan-fp16-overflow", WEAK, tuple(hits), "likely")
    is_bare = (
        last.rstrip().endswith("]") and "%|" in last and any(seen.later_steps(h) < LATER_STEPS for h in hits)
    )
    is_good = (
        bool(last) and _OF_A_STEP.search(last) is None and not is_bare
    )  # a bar alone says nothing of values
    if len(hits) < BAD_STEPS or (len(losses) < BAD_STEPS and is_good):
        return None
    return Case("loss-nan-fp16-overflow", WEAK, tuple(hits), "likely")
