"""ZeRO-3 hangs where ranks route to different experts.

## How it is found
No message of its own: after some steps the watchdog reports `_ALLGATHER_BASE` or `_REDUCE_SCATTER_BASE`,
with ZeRO-3 and a mixture-of-experts model; the ranks are at different SeqNum.

Easily confused with collective-timeout-straggler, where the model has no experts.

## Why it matters
ZeRO-3 gathers a module when it is used. Ranks that use different experts gather different modules, and wait for
each other forever.

## What to do
deepspeed.utils.set_z3_leaf_modules(model, [the MoE block's class]) before deepspeed.initialize, so that a
block is gathered whole; DeepSpeed's own list holds Mixtral, Qwen2-MoE and Qwen3-MoE, not DeepSeek.

## Source
DeepSpeed 0.19.8 has `set_z3_leaf_modules` in `utils/z3_leaf_module.py`; LLaMA-Factory 0.9.5 calls it in
`model/model_utils/moe.py`.

Topic: training
"""

from __future__ import annotations

from typing import Optional

from allranks.diagnose.evidence import Evidence
from allranks.diagnose.symptom import ECHO, Case, Pattern
from allranks.diagnose.symptoms.collective_timeout_straggler import CAUSE as COLLECTIVE_TIMEOUT_STRAGGLER

OPERATIONS = ("_ALLGATHER_BASE", "_REDUCE_SCATTER_BASE", "ALLGATHER_BASE", "REDUCE_SCATTER_BASE")
PATTERNS = (Pattern("leaf_modules", r"set_z3_leaf_modules", weight=ECHO - 4),)


def judge(seen: Evidence) -> Optional[Case]:
    """A watchdog in ZeRO's collectives, an MoE model, stage 3: likely, never certain."""
    if "moe" not in seen.words or not seen.collectives:
        return None
    stuck = [c for c in seen.collectives.values() if c.operation in OPERATIONS]
    if not stuck or ("zero3" not in seen.words and len({c.sequence for c in seen.collectives.values()}) < 2):
        return None
    hits = tuple(seen.hits.get(COLLECTIVE_TIMEOUT_STRAGGLER.id, ())[:4])
    return Case("moe-expert-not-used-hang", ECHO + 12, hits, "likely")
