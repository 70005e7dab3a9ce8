"""A mixture of experts would hang under ZeRO-3.

## How it is found
ZeRO-3 with transformers before 5 and a model of routed experts that allranks does not describe, and that neither
LLaMA-Factory nor DeepSpeed marks as a leaf.

## Why it matters
Before transformers 5 each expert is a module of its own. Ranks send their tokens to different experts and
ZeRO-3 gathers whatever a rank meets: after a step or two they are in different collectives and wait for each
other until the time-out. With fused experts (transformers 5) this does not appear.

## What to do
`deepspeed.utils.set_z3_leaf_modules(model, [TheMoEClass])` before training, or `leaf_module` in the JSON, or
transformers 5. In a run, allranks marks each block of the model that has a list of `experts` beside a `gate` or a
`router`.

## Source
DeepSpeed 0.19.8 `runtime/zero/leaf_module_config.py` (Mixtral, Qwen2-MoE, Qwen3-MoE); LLaMA-Factory 0.9.3
`model/model_utils/moe.py`; DeepSpeed#4966, #5008.

Topic: settings
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings
from allranks.checks.lint.run_settings import is_old_transformers
from allranks.core.untrusted import mapping
from allranks.plan import families

UNKNOWN_BLOCKS = False

MARKED = (
    *("dbrx", "kimi_vl", "granitemoe", "jamba", "jetmoe", "llama4", "llama4_text"),
    *("olmoe", "phimoe"),
)
"""Models that LLaMA-Factory marks, beside the families that are described here: of those, each has its experts
either in a block that `worker/moe.py` knows, or in one tensor."""


def applies(context: Context) -> bool:
    return context.llamafactory and context.zero_stage == 3 and is_old_transformers(context)


def check(context: Context) -> Findings:
    configs = (mapping(view.get("storage.model.config")) for view in context.answered)
    config = next(filter(None, configs), {})
    experts = next(
        (k for k in ("n_routed_experts", "num_experts", "num_local_experts") if config.get(k)), None
    )
    kind = config.get("model_type")
    leaf = mapping(context.deepspeed.get("zero_optimization")).get("leaf_module")
    if experts and kind not in MARKED and not leaf and not families.is_described(kind):
        yield context.block(
            "train.llamafactory.model_name_or_path",
            saw=f"{kind} has {config[experts]} routed experts, and nothing marks them as a leaf of ZeRO-3",
            expected="a leaf module, or transformers 5",
            why="ranks that route to different experts stop in different collectives after a step or two.",
            fix='"zero_optimization": {"leaf_module": {"classes": ["the class of its MoE block"]}}',
        )
