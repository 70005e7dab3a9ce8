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
from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import CRASH, STRONG, WEAK, Case, Pattern

CAUSE = Cause(__name__, outlasts_the_end=True)
BAD_STEPS = 3
_LOSS = r"(?i)(?:\b|_)loss(?:es|_\w{1,12})?['\"]?\s{0,12}[:=]?\s{0,12}['\"]?(?:nan|-?inf)\b"
_NORM = r"(?i)\bgrad[_ ]norm['\"]?\s{0,3}[:=]\s{0,3}['\"]?nan\b"
_FLOOR = r"(?i)loss scale to:? {0,3}(?:0\.00|[\d.]{1,20}e-)"
_OF_A_STEP = re.compile(f"{_LOSS}|{_NORM[4:]}")
CLAIM = Claim(
    subject=(
        r"(?i)\bnans? (?:\w{1,20} ){0,3}(?:detected|found|encountered|in)\b|\breturned nan\b|\b(?:loss"
        r"|grad\w{0,60}|param\w{0,12}|weights?|logits|outputs?)\b.{0,40}\b(?:nan|inf)\b"
        r"|\bnan\b.{0,40}\b(?:loss|grad|value|tensor)"
        r"|\bloss[_ -]scale\b|\bgrad\w{0,20}[ _]overflow"
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
        Pattern(word, r"(?i)\bloss is (?:nan|-?inf|not finite)\b.{0,30}\b(?:stop|abort|exit)", weight=90)
        for word in ("Loss is", "loss is")
    ),
    Pattern("nan", _LOSS, weight=WEAK),
    Pattern("nan", _NORM, weight=WEAK),
    Pattern("NaN", _LOSS, weight=WEAK),
    Pattern("inf", _LOSS, weight=WEAK),
    Pattern(
        "NaN",
        r"(?i)\bnan\b.{0,40}(?:loss|grad)|(?:loss|grad\w{0,60})\b.{0,40}\bnan\b",
        weight=WEAK,
        raised=True,
    ),
    Pattern("FoundNan", weight=WEAK),
    Pattern("Minimum loss scale reached"),
    Pattern(  # below 1 in 256: nothing is left to halve
        "overflow detected",
        _FLOOR,
        weight=WEAK,
    ),
    Pattern("reducing loss scale to", _FLOOR, weight=WEAK),  # apex
    Pattern("in local forward loss", r"found (?:NaN|Inf)"),
    Pattern("in local grad norm", r"found (?:NaN|Inf)"),
)


def judge(seen: Evidence) -> Optional[Case]:
    """NaN steps are progress lines, so no later step clears them; one of them alone proves nothing. A gradient that is
    NaN now and then is a step that the loss scaler skipped: only if the last step has one, too, it counts."""
    hits = seen.hits.get("loss-nan-fp16-overflow", [])
    strong = [h for h in hits if h.weight > CRASH]
    if strong:
        weight = max(h.weight for h in strong)
        return Case(
            "loss-nan-fp16-overflow", weight, tuple(strong), "certain" if weight >= STRONG else "likely"
        )
    floor = [h for h in hits if re.search(_FLOOR, h.line.text) and not seen.survived(h)]
    if floor:
        return Case("loss-nan-fp16-overflow", WEAK, tuple(floor), "likely")
    losses = [h for h in hits if re.search(_LOSS, h.line.text)]
    last = seen.last_step[1].text if seen.last_step is not None else ""
    if re.search(_LOSS, last) and re.search(_NORM, last):  # both, in the last step of all
        return Case("loss-nan-fp16-overflow", WEAK, tuple(hits), "likely")
    if len(hits) < BAD_STEPS or (len(losses) < BAD_STEPS and _OF_A_STEP.search(last) is None):
        return None
    return Case("loss-nan-fp16-overflow", WEAK, tuple(hits), "likely")
