"""The settings that took effect, asked of the objects that hold them, not of what was written down."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional, Tuple

from allranks.worker import digest, gpu, guard, heartbeat
from allranks.worker.rank_reporter import Rank


def tell(rank: Rank, settings: Dict[str, Any]) -> None:
    """Emits `settings`, and before it `start` again where the GPU is known by now."""
    device = guard.guarded(gpu.identity)()
    if device is not None:
        rank.emit("start", heartbeat.started(rank, device))
    torch = guard.loaded("torch")
    settings["torch"] = str(getattr(torch, "__version__", "")) or None
    if rank.notes:
        settings["notes"] = list(rank.notes)
    rank.emit("settings", settings)
    rank.told = settings


@guard.guarded
def tell_data(rank: Rank, model: Any) -> None:
    """After each step; after the first it tells the settings once more, with the digest of the first batch."""
    if rank.told is None:
        return
    told, rank.told = rank.told, None
    found = data(rank, model.parameters())
    if found:
        rank.emit("settings", {**told, **{k: v for k, v in found.items() if told.get(k) is None}})


def data(rank: Rank, parameters: Iterable[Any]) -> Dict[str, Any]:
    """`data_digest`, where this rank's batches should be its own; `samples` where only the loader knows them."""
    first, rank.first_batch = rank.first_batch, None
    if first is None or first.digest is None:
        return {}
    engine = rank.engine() if rank.engine is not None else None
    # None is a fault of ours: then nothing is said
    if digest.shares_batches(engine, parameters) is not False:
        return {}
    found = {"data_digest": first.digest}
    return found if first.samples is None else {**found, "samples": first.samples}


def of_trainer(rank: Rank, args: Any, state: Any, model: Any, loader: Any) -> Dict[str, Any]:
    """Of a transformers Trainer that begins to train; with DeepSpeed under it, DeepSpeed's too."""
    engine = rank.engine() if rank.engine is not None else None
    trainable, total = whole(engine, model)
    found = {
        "framework": "llamafactory" if guard.loaded("llamafactory") else "transformers",
        "trainable_parameters": trainable,
        "total_parameters": total,
        "micro_batch": args.per_device_train_batch_size,
        "accumulation": args.gradient_accumulation_steps,
        "world_size": args.world_size,
        "total_steps": state.max_steps,
        "samples": size(getattr(loader, "dataset", None)),
        "epochs": state.num_train_epochs,
        "precision": "bf16" if args.bf16 else "fp16" if args.fp16 else precision(model.parameters()),
    }
    found.update(zero(engine))
    if not digest.divides_model(engine):
        found["trainable_digest"] = digest.trainable(model.parameters())
    return found


def of_engine(rank: Rank, engine: Any, loader: Any) -> Dict[str, Any]:
    """Of a DeepSpeed engine that a script drives by itself, or through accelerate."""
    trainable, total = whole(engine, engine.module)
    found = {
        "framework": "accelerate" if uses_accelerate() else "deepspeed",
        "trainable_parameters": trainable,
        "total_parameters": total,
        "micro_batch": engine_value(engine, "train_micro_batch_size_per_gpu"),
        "accumulation": engine_value(engine, "gradient_accumulation_steps"),
        "world_size": world_size(rank),
        "total_steps": None,
        "samples": size(getattr(loader, "dataset", None)),
        "epochs": None,
        "precision": "bf16"
        if engine_value(engine, "bfloat16_enabled")
        else "fp16"
        if engine_value(engine, "fp16_enabled")
        else precision(engine.module.parameters()),
    }
    found.update(zero(engine))
    if not digest.divides_model(engine):
        found["trainable_digest"] = digest.trainable(engine.module.parameters())
    return found


def of_optimizer(rank: Rank, optimizer: Any) -> Dict[str, Any]:
    """Of a plain loop, of which only the optimizer is seen: the model's frozen part is not."""
    held = [p for group in optimizer.param_groups for p in group["params"]]
    return {
        "framework": "accelerate" if uses_accelerate() else "torch",
        "trainable_parameters": parameters(held)[0],
        "total_parameters": None,
        "zero_stage": None,
        "reduce_bucket_size": None,
        "prefetch_bucket_size": None,
        "micro_batch": rank.batch_size,
        "accumulation": None,
        "world_size": world_size(rank),
        "total_steps": None,
        "samples": None,
        "epochs": None,
        "precision": precision(held),
        # After the first step: where gradients are averaged, ranks that began alike are alike still.
        "trainable_digest": digest.trainable(held),
        **data(rank, held),
    }


def uses_accelerate() -> bool:
    """Whether the script made an Accelerator; transformers imports accelerate in any case."""
    state = getattr(guard.loaded("accelerate.state"), "AcceleratorState", None)
    return bool(getattr(state, "_shared_state", None))


def zero(engine: Any) -> Dict[str, Any]:
    return {
        "zero_stage": engine_value(engine, "zero_optimization_stage"),
        "reduce_bucket_size": engine_value(engine, "zero_reduce_bucket_size"),
        "prefetch_bucket_size": engine_value(engine, "zero_prefetch_bucket_size"),
    }


def whole(engine: Any, model: Any) -> Tuple[Optional[int], Optional[int]]:
    """(trainable, total) of the model, (None, None) where this rank holds a stage or a slice of it."""
    return (None, None) if digest.divides_model(engine) else parameters(model.parameters())


def parameters(found: Iterable[Any]) -> Tuple[Optional[int], Optional[int]]:
    """(trainable, total) numbers. Under ZeRO-3 a parameter is empty here and `ds_numel` is its true size.

    (None, None) under FSDP1, where a rank sees only its own share and the whole's size is not told.
    """
    trainable = total = 0
    for parameter in found:
        if hasattr(parameter, "_is_flat_param") or getattr(parameter, "_fsdp_flattened", False):
            return None, None
        number = int(getattr(parameter, "ds_numel", None) or parameter.numel())
        total += number
        if parameter.requires_grad:
            trainable += number
    return trainable, total


def precision(found: Iterable[Any]) -> Optional[str]:
    """The data type of the first floating-point parameter that trains, as `fp32`, `bf16` or `fp16`."""
    for parameter in found:
        if parameter.requires_grad and parameter.is_floating_point():
            name = str(parameter.dtype).rpartition(".")[2]
            return {"float32": "fp32", "bfloat16": "bf16", "float16": "fp16"}.get(name, name)
    return None


def world_size(rank: Rank) -> Optional[int]:
    """What torch's process group says, without one what torchrun said: then this rank trains alone."""
    distributed = guard.loaded("torch.distributed")
    if distributed is not None and distributed.is_available():
        # No group by the first step means that no gradient leaves this rank, whatever WORLD_SIZE says.
        return distributed.get_world_size() if distributed.is_initialized() else 1
    return rank.place.world_size


def size(dataset: Any) -> Optional[int]:
    try:
        return None if dataset is None else len(dataset)
    except (TypeError, NotImplementedError):
        return None  # a stream has no length


def engine_value(engine: Any, method: str) -> Any:
    """`engine.method()`, None where this version has no such method."""
    try:
        return None if engine is None else getattr(engine, method)()
    except Exception:
        return None
