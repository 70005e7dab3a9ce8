"""The resume state of a Trainer's training without DeepSpeed, in which every rank holds all parameters that train.

It offers the few parts of a DeepSpeed engine that `trainer_state` asks for. So both write the same files, and only
rank 0 writes them. A parameter is its own master weight.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Dict, List, Optional

from allranks.worker import frozen_parts, guard
from allranks.worker.adapters import CannotSave, unwrap
from allranks.worker.optimizer_state import Flat, NotHeld, Part

WHOLE = ("NO", "MULTI_CPU", "MULTI_GPU", "MULTI_XPU", "MULTI_NPU", "MULTI_MLU", "MULTI_MUSA", "MULTI_HPU")
"""Of accelerate.utils.DistributedType: those under which each rank has the whole model."""


class Replicas:
    """In the place of a DeepSpeed engine; `optimizer.optimizer` is torch's own."""

    allranks_kind = "replicas"
    lr_scheduler = None  # the Trainer's is beside it

    def __init__(self, trainer: Any, model: Any):
        self.module = model
        # accelerate wraps the optimizer once the training begins
        self.optimizer = SimpleNamespace(optimizer=getattr(trainer.optimizer, "optimizer", trainer.optimizer))
        self.batch = int(getattr(trainer, "_train_batch_size", None) or trainer.args.train_batch_size)
        self.accumulation = int(trainer.args.gradient_accumulation_steps)

    def train_micro_batch_size_per_gpu(self) -> int:
        return self.batch

    def gradient_accumulation_steps(self) -> int:
        return self.accumulation

    def flats(self) -> List[Flat]:
        """One a parameter. Raises NotHeld, alike on every rank, if the optimizer's state has another form."""
        names = {id(p): name for name, p in self.module.named_parameters() if p.requires_grad}
        inner, found = self.optimizer.optimizer, []
        for number, group in enumerate(inner.param_groups):
            for parameter in group["params"]:
                if not parameter.requires_grad:
                    continue
                name = names.pop(id(parameter), None)
                if name is None or hasattr(parameter, "placements") or not parameter.is_contiguous():
                    raise NotHeld("%s is not a whole parameter of the model" % (name or "one that trains"))
                part = Part(name, tuple(parameter.shape), parameter.numel(), 0, parameter.numel())
                found.append(Flat(parameter, inner.state[parameter], (part,), number, False, True))
        if names or not found:
            raise NotHeld("the optimizer does not have %s" % next(iter(names.values()), "a parameter"))
        _same_numbers(found)
        return found


def _same_numbers(found: List[Flat]) -> None:
    """The numbers are kept once a group. A parameter that never had a gradient has no state at all."""
    of_group: Dict[int, Dict[str, Any]] = {}
    for flat in found:
        numbers = flat.scalars()
        if numbers and of_group.setdefault(flat.group, numbers) != numbers:
            raise NotHeld("%s has had another number of steps than others" % flat.parts[0].name)


def of(trainer: Any) -> Optional[Replicas]:
    """None unless the trainer's model is an adapter that each rank of a process group has whole."""
    if getattr(trainer, "is_deepspeed_enabled", False) or getattr(trainer, "is_fsdp_enabled", False):
        return None
    kind = getattr(getattr(trainer, "accelerator", None), "distributed_type", None)
    torch = guard.loaded("torch")
    if getattr(kind, "value", kind) not in WHOLE or torch is None or not torch.distributed.is_initialized():
        return None
    try:
        model, _ = unwrap(trainer.model_wrapped)
    except CannotSave:
        return None
    if any(config.is_prompt_learning for config in model.peft_config.values()) or frozen_parts.names(model):
        # Our state holds what trains, and the Trainer's own way brings the rest back without DeepSpeed.
        return None
    return Replicas(trainer, model)
