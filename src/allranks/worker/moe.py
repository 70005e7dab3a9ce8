"""Mixture-of-experts layers under ZeRO-3, where each expert is a module of its own.

ZeRO-3 gathers a module's parameters when the module runs. Two ranks whose tokens go to different experts
then gather different parameters, wait for each other in different collectives, and hang after a step or two
(DeepSpeed#4966, #5008, #7461). A leaf module is gathered whole, so all ranks gather the same. DeepSpeed's own
list of leaves (deepspeed/runtime/zero/leaf_module_config.py, 0.19) has no DeepSeek. If all experts are in
one tensor (transformers 5), there is nothing to do.

A block is known by its form: a list of `experts` beside what routes to them. In transformers 4.52.4 these are all
blocks of language models whose experts are separate modules; VitPose, which picks its expert by a given index, has
no router.
"""

from __future__ import annotations

import json
from typing import Any, Optional

from allranks.worker import guard

ROUTERS = ("gate", "router")
"""transformers' names (4.44 to 4.57) of what picks a token's experts."""


def mark_leaves(args: Any, kwargs: Any) -> Optional[str]:
    """Marks such blocks in the model that `deepspeed.initialize` is given; a note of what was done, or None."""
    model = kwargs.get("model", args[1] if len(args) > 1 else None)
    if model is None or stage(args, kwargs) != 3:
        return None
    torch = guard.loaded("torch")
    found = set()
    for module in model.modules():
        experts: Any = getattr(module, "experts", None)
        if not isinstance(experts, torch.nn.ModuleList) or len(experts) < 2:
            continue
        if any(hasattr(module, name) for name in ROUTERS) and not getattr(module, "_z3_leaf", False):
            found.add(type(module))
    if not found:
        return None
    guard.loaded("deepspeed").utils.set_z3_leaf_modules(model, sorted(found, key=lambda kind: kind.__name__))
    names = ", ".join(sorted(kind.__name__ for kind in found))
    return (
        f"{names}: marked as ZeRO-3 leaf modules. Their experts are separate modules, and ranks that route to "
        "different experts would wait for each other without end."
    )


def stage(args: Any, kwargs: Any) -> Any:
    """The ZeRO stage of the configuration that `deepspeed.initialize` is given, as a dict or as a path."""
    config = kwargs.get("config") or kwargs.get("config_params")
    if config is None:
        given = kwargs.get("args", args[0] if args else None)
        config = getattr(given, "deepspeed_config", None)
    if isinstance(config, str):
        with open(config, encoding="utf-8") as file:
            config = json.load(file)
    if not isinstance(config, dict):
        return None
    zero = config.get("zero_optimization")
    return zero.get("stage") if isinstance(zero, dict) else None
