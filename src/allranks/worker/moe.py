"""Mixture-of-experts layers under ZeRO-3, where each expert is a module of its own.

ZeRO-3 gathers a module's parameters when the module runs. Two ranks whose tokens go to different experts
then gather different parameters, wait for each other in different collectives, and hang after a step or two
(DeepSpeed#4966, #5008, #7461). A leaf module is gathered whole, so all ranks gather the same. DeepSpeed's own
list of leaves (deepspeed/runtime/zero/leaf_module_config.py, 0.19) has no DeepSeek.

If all experts are in one tensor (transformers 5), all ranks gather the same. But the activation function is a module
within them, and a forward in a Python loop ("eager": torch before 2.9) calls it for each expert with tokens. DeepSpeed
notes each module that runs and compares the notes among ranks, so such ranks fail or hang in the second step; as a
leaf, the experts are one module. In slices (`expert_slices.py`) DeepSpeed has no hooks there at all.

A block is known by its form: a list of `experts` beside what routes to them. In transformers 4.52.4 these are all
blocks of language models whose experts are separate modules; VitPose, which picks its expert by a given index, has
no router.
"""

from __future__ import annotations

import json
from typing import Any, List, Optional, Tuple

from allranks.worker import expert_slices, guard, lockstep

ROUTERS = ("gate", "router")
"""transformers' names (4.44 to 4.57) of what picks a token's experts."""


def arrange(args: Any, kwargs: Any, asked: Optional[str] = None) -> Tuple[Optional[str], Optional[Any]]:
    """Makes such blocks in the model that `deepspeed.initialize` is given safe under ZeRO-3: as leaves, or, if `asked`
    says so, in lockstep or in slices. (A note of what was done or None, the `Lockstep` or `Slices` that begins with the
    engine or None.)"""
    model = kwargs.get("model", args[1] if len(args) > 1 else None)
    at_once = lockstep.asked(asked)
    if model is None or stage(args, kwargs) != 3:
        return ("train.experts: lockstep needs ZeRO-3." if at_once and model is not None else None), None
    blocks = _blocks(model)
    fused = expert_slices.modules_of(model)
    why = _unfit(model, blocks, fused) if at_once else None
    if at_once and why is None:
        return _in_lockstep(blocks, at_once) if blocks else _in_slices(model, fused, at_once)
    _leaves_of_fused(fused)
    note = _leaves(model, [block for block in blocks if not getattr(block, "_z3_leaf", False)])
    if why:
        note = f"train.experts: lockstep is left out: {why}." + (f" {note}" if note else "")
    return note, None


def _blocks(model: Any) -> List[Any]:
    return [module for module in model.modules() if _is_block(module)]


def _is_block(module: Any) -> bool:
    torch = guard.loaded("torch")
    experts: Any = getattr(module, "experts", None)
    is_list = isinstance(experts, torch.nn.ModuleList) and len(experts) > 1
    return is_list and any(hasattr(module, name) for name in ROUTERS)


def _unfit(model: Any, blocks: List[Any], fused: List[Any]) -> Optional[str]:
    if not blocks and not fused:
        return "no block of this model has experts of a known form"
    return lockstep.unfit() if blocks else expert_slices.unfit(model, fused)


def _in_slices(model: Any, fused: List[Any], at_once: int) -> Tuple[None, Any]:
    arranged = expert_slices.Slices(model, fused, at_once)
    arranged.mark()
    lockstep.after_leaf_lists(arranged)
    return None, arranged


def _in_lockstep(blocks: List[Any], at_once: int) -> Tuple[str, Any]:
    arranged = lockstep.Lockstep(blocks, at_once)
    arranged.mark()
    lockstep.after_leaf_lists(arranged)
    return (
        f"{_names(blocks)}: experts in lockstep, {min(at_once, max(block.count for block in arranged.blocks))} at a "
        "time. Every rank runs every expert, with no tokens if it has none."
    ), arranged


def _leaves(model: Any, blocks: List[Any]) -> Optional[str]:
    if not blocks:
        return None
    kinds = sorted({type(block) for block in blocks}, key=lambda kind: kind.__name__)
    guard.loaded("deepspeed").utils.set_z3_leaf_modules(model, kinds)
    return (
        f"{_names(blocks)}: marked as ZeRO-3 leaf modules. Their experts are separate modules, and ranks that route "
        "to different experts would wait for each other without end."
    )


def _leaves_of_fused(modules: List[Any]) -> None:
    """It gathers the same as before, so it is not noted."""
    for module in modules:
        if any(True for _ in module.children()):
            module._z3_leaf = True


def _names(blocks: List[Any]) -> str:
    return ", ".join(sorted({type(block).__name__ for block in blocks}))


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
