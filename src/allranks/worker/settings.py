"""The settings that took effect: asked of the objects that hold them, not of a configuration file."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Optional, Tuple

from allranks.core.rank_events import Gpu, Settings
from allranks.worker import digest, gpu, guard, heartbeat
from allranks.worker.rank_reporter import Rank


def tell(rank: Rank, settings: Settings) -> None:
    """Emits `settings`, and before it `start` again if the GPU is known by now."""
    device = guard.guarded(gpu.identity)()
    if device is not None:
        rank.emit(heartbeat.started(rank, Gpu(**device)))
    notes = {"notes": list(rank.notes)} if rank.notes else {}
    rank.told = Settings(**{**vars(settings), "torch": heartbeat.torch_version(), **notes})
    rank.emit(rank.told)


@guard.guarded
def tell_data(rank: Rank, model: Any) -> None:
    """After each step; after the first it tells the settings once more, with the digest of the first batch."""
    told, rank.told = rank.told, None
    found = data(rank, model.parameters()) if told is not None else {}
    if found:
        known = {name: value for name, value in vars(told).items() if value is not None}
        rank.emit(Settings(**{**vars(told), **found, **known}))


def data(rank: Rank, parameters: Iterable[Any]) -> Dict[str, Any]:
    """`data_digest`, if this rank's batches should be its own; `samples`, if only the loader knows them."""
    first, rank.first_batch = rank.first_batch, None
    if first is None or first.digest is None:
        return {}
    engine = rank.engine() if rank.engine is not None else None
    # None is a bug in allranks: then nothing is reported.
    if digest.shares_batches(engine, parameters) is not False:
        return {}
    found = {"data_digest": first.digest}
    return found if first.samples is None else {**found, "samples": first.samples}


def of_trainer(rank: Rank, args: Any, state: Any, model: Any, loader: Any) -> Settings:
    """Of a transformers Trainer that begins to train; with DeepSpeed under it, DeepSpeed's too."""
    engine = rank.engine() if rank.engine is not None else None
    return Settings(
        framework="llamafactory" if guard.loaded("llamafactory") else "transformers",
        micro_batch=args.per_device_train_batch_size,
        accumulation=args.gradient_accumulation_steps,
        world_size=args.world_size,
        total_steps=state.max_steps,
        samples=size(getattr(loader, "dataset", None)),
        epochs=state.num_train_epochs,
        precision="bf16" if args.bf16 else "fp16" if args.fp16 else precision(model.parameters()),
        **of_model(engine, model),
    )


def of_engine(rank: Rank, engine: Any, loader: Any) -> Settings:
    """Of a DeepSpeed engine that a script drives by itself, or through accelerate."""
    low = {"bf16": "bfloat16_enabled", "fp16": "fp16_enabled"}
    enabled = next((name for name, method in low.items() if engine_value(engine, method)), None)
    return Settings(
        framework="accelerate" if uses_accelerate() else "deepspeed",
        micro_batch=engine_value(engine, "train_micro_batch_size_per_gpu"),
        accumulation=engine_value(engine, "gradient_accumulation_steps"),
        world_size=world_size(rank),
        samples=size(getattr(loader, "dataset", None)),
        precision=enabled or precision(engine.module.parameters()),
        **of_model(engine, engine.module),
    )


def of_optimizer(rank: Rank, optimizer: Any) -> Settings:
    """Of a plain loop, of which only the optimizer is seen: the model's frozen part is not."""
    held = [p for group in optimizer.param_groups for p in group["params"]]
    return Settings(
        framework="accelerate" if uses_accelerate() else "torch",
        trainable_parameters=parameters(held)[0],
        micro_batch=rank.batch_size,
        world_size=world_size(rank),
        precision=precision(held),
        # After the first step: if gradients are averaged, ranks that began alike are still alike.
        trainable_digest=digest.trainable(held),
        **data(rank, held),
    )


def uses_accelerate() -> bool:
    """Whether the script made an Accelerator; transformers imports accelerate in any case."""
    state = getattr(guard.loaded("accelerate.state"), "AcceleratorState", None)
    return bool(getattr(state, "_shared_state", None))


def of_model(engine: Any, model: Any) -> Dict[str, Any]:
    """ZeRO's settings; the model's size and digest, unless this rank holds only a stage or a slice of it."""
    found = {
        "zero_stage": engine_value(engine, "zero_optimization_stage"),
        "reduce_bucket_size": engine_value(engine, "zero_reduce_bucket_size"),
        "prefetch_bucket_size": engine_value(engine, "zero_prefetch_bucket_size"),
    }
    if not digest.divides_model(engine):
        found["trainable_parameters"], found["total_parameters"] = parameters(model.parameters())
        found["trainable_digest"] = digest.trainable(model.parameters())
    return found


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
    """What torch's process group says, or, before torch.distributed is there, torchrun's environment."""
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
    """`engine.method()`; None if this version has no such method."""
    try:
        return None if engine is None else getattr(engine, method)()
    except Exception:
        return None
