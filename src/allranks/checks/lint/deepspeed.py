"""Keys of a DeepSpeed JSON: which it reads, refuses or ignores, and what each does.

Read from DeepSpeed 0.19.8 (`runtime/config.py`, `runtime/zero/config.py`: `extra="forbid"`) and transformers
5.6 (`integrations/deepspeed.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any

from allranks.checks.lint.line import COSTLY, SET, VOID, WRONG, Line, nearest
from allranks.plan.deepspeed_keys import VOID as UNDER_TRANSFORMERS
from allranks.plan.deepspeed_keys import ZERO_KEYS

TOP: dict[str, str] = {
    "train_batch_size": "samples of all ranks per step: micro batch × accumulation × ranks",
    "train_micro_batch_size_per_gpu": "samples per rank and micro-step",
    "gradient_accumulation_steps": "micro-steps per optimizer step",
    "gradient_clipping": "the largest norm of a gradient",
    "optimizer": "DeepSpeed's own optimizer in place of the trainer's",
    "scheduler": "DeepSpeed's own learning-rate schedule in place of the trainer's",
    "zero_optimization": "what is split over the ranks",
    "zero_allow_untested_optimizer": "lets ZeRO work with an optimizer that it has not tested",
    "zero_force_ds_cpu_optimizer": "with offload: DeepSpeed's processor Adam or nothing",
    "bf16": "bfloat16",
    "bfloat16": "bfloat16 (its old name)",
    "fp16": "half precision with loss scaling",
    "torch_autocast": "torch's own mixed precision",
    "data_types": "types of parameters, buffers and accumulated gradients",
    "communication_data_type": "the type in which gradients travel",
    "seq_parallel_communication_data_type": "the same for sequence parallelism",
    "prescale_gradients": "divides before the reduction",
    "gradient_predivide_factor": "by how much",
    "gradient_allreduce_op": "mean or sum",
    "activation_checkpointing": "for models that call DeepSpeed's own checkpointing",
    "pipeline": "for DeepSpeed's pipeline modules",
    "checkpoint": "how checkpoints are written",
    "aio": "asynchronous disk access, for offload to NVMe",
    "wall_clock_breakdown": "times each part of a step",
    "memory_breakdown": "prints memory at each part of a step",
    "dump_state": "prints the engine's state at its start",
    "steps_per_print": "how often a line is printed",
    "flops_profiler": "counts operations at one step",
    "comms_logger": "logs each collective",
    "tensorboard": "DeepSpeed's own TensorBoard writer",
    "wandb": "DeepSpeed's own W&B writer",
    "comet": "DeepSpeed's own Comet writer",
    "csv_monitor": "DeepSpeed's own CSV writer",
    "autotuning": "looks for a configuration by trying",
    "elasticity": "batch sizes that fit several numbers of ranks",
    "data_efficiency": "curriculum and token dropping",
    "compression_training": "pruning and quantization",
    "hybrid_engine": "training and generating by turns",
    "compile": "torch.compile for DeepSpeed",
    "timers": "timers of throughput",
    "tensor_parallel": "tensor parallelism",
    "expert_parallel": "expert parallelism of known models (AutoEP)",
    "weight_quantization": "quantized weights",
    "sparse_attention": "sparse attention kernels",
    "dataloader_drop_last": "drops the last partial batch of DeepSpeed's own loader",
    "disable_allgather": "another way to gather in ZeRO-1",
    "disable_python_gc": "switches Python's garbage collector off",
    "managed_gradient_accumulation": "DeepSpeed counts the micro-steps",
    "use_data_before_expert_parallelism": "the order of groups in DeepSpeed-MoE",
    "vocabulary_size": "only a warning about its divisibility",
    "log_level": "how much it logs",
    "sequence_parallel_size": "Ulysses sequence parallelism",
    "datastates_ckpt": "another checkpoint engine",
    "checkpoint_engine": "another checkpoint engine",
}
IGNORED: dict[str, str] = {
    "moe_param_group": "DeepSpeed does not read it",
    "lr": "it belongs to optimizer.params",
    "amp": "apex is gone from current versions",
    "max_grad_norm": "its name is gradient_clipping",
}
REMOVED: dict[str, str] = {
    "curriculum_learning": "removed; data_efficiency.data_sampling.curriculum_learning is its successor",
    "progressive_layer_drop": "removed",
    "zero_optimization.mics_shard_size": "MiCS has been removed",
    "zero_optimization.mics_hierarchical_params_gather": "MiCS has been removed",
    "zero_optimization.zeropp_loco_param": "LoCo has been removed",
}
"""DeepSpeed 0.19 raises over these."""

ZERO: dict[str, str] = {
    "stage": "1 splits optimizer states, 2 also gradients, 3 also parameters",
    "overlap_comm": "reduces and gathers while it computes",
    "contiguous_gradients": "copies gradients into one buffer, against fragmentation",
    "reduce_bucket_size": "elements that are reduced at once",
    "reduce_scatter": "each rank gets its part alone",
    "allgather_bucket_size": "elements that are gathered at once (stages 1 and 2)",
    "allgather_partitions": "gathers in place of broadcasts",
    "offload_optimizer": "optimizer states in host memory or on NVMe",
    "offload_param": "parameters in host memory or on NVMe",
    "sub_group_size": "elements that the optimizer works on at once",
    "stage3_prefetch_bucket_size": "elements that are gathered ahead",
    "stage3_param_persistence_threshold": "parameters below this many elements stay whole on every rank",
    "stage3_model_persistence_threshold": "the most that stays whole in all",
    "stage3_max_live_parameters": "elements that may be whole at once",
    "stage3_max_reuse_distance": "a parameter used again within this many elements stays whole",
    "stage3_gather_16bit_weights_on_model_save": "a save collects the whole model on rank 0",
    "stage3_module_granularity_threshold": "small modules are gathered as one",
    "stage3_use_all_reduce_for_fetch_params": "gathers by all-reduce",
    "round_robin_gradients": "evens out copies of gradients (stage 2 with offload)",
    "ignore_unused_parameters": "parameters without a gradient are not an error",
    "zero_hpz_partition_size": "ZeRO++: a second copy of the shards within each node",
    "zero_quantized_weights": "ZeRO++: gathers in int8",
    "zero_quantized_gradients": "ZeRO++: reduces in int4",
    "zero_quantized_nontrainable_weights": "ZeRO++: frozen weights in int8",
    "memory_efficient_linear": "keeps no copies of gathered weights for the backward pass",
    "leaf_module": "modules that are gathered as one, as MoE layers must be",
    "elastic_checkpoint": "checkpoints that load on another number of ranks (stages 1 and 2)",
    "load_from_fp32_weights": "masters from the checkpoint's fp32 weights",
    "zenflow": "asynchronous offload",
    "cpu_offload": "old name of offload_optimizer",
    "cpu_offload_param": "old name of offload_param",
    "stage3_gather_fp16_weights_on_model_save": "old name of stage3_gather_16bit_weights_on_model_save",
}
NESTED: dict[str, str] = {
    "device": "cpu, nvme or none",
    "partition_activations": "splits kept activations over tensor-parallel ranks",
    "cpu_checkpointing": "keeps activations in host memory",
    "contiguous_memory_optimization": "copies kept activations into one buffer",
    "synchronize_checkpoint_boundary": "waits for the GPU at each checkpoint",
    "number_checkpoints": "how many layers are checkpointed",
    "activation_checkpoint_interval": "layers between two checkpoints of a pipeline",
    "pin_memory": "page-locked host memory: faster copies, memory that cannot be swapped",
    "nvme_path": "a folder on a fast local disk",
    "enabled": "whether it is on",
    "type": "which one",
    "lr": "learning rate",
    "betas": "Adam's decay rates",
    "eps": "Adam's smallest divisor",
    "weight_decay": "weight decay",
    "warmup_min_lr": "learning rate at the first step",
    "warmup_max_lr": "learning rate after the warm-up",
    "warmup_num_steps": "steps of the warm-up",
    "total_num_steps": "steps of the whole schedule",
    "params": "its parameters",
}
UNFILLED = "only transformers replaces auto by a number"
"""At the top and for an optimizer or a schedule. In its other sections DeepSpeed takes `auto` for the default
(`runtime/config_utils.py`)."""

TRUE_COSTS = {
    "wall_clock_breakdown": "synchronizes the GPU at each part of a step, so that nothing overlaps",
    "memory_breakdown": "prints at each part of a step, and synchronizes for it",
}


def lines(
    config: Mapping[str, Any], *, transformers: bool = True, zero_keys: Collection[str] | None = None
) -> Iterator[Line]:
    """One line a key, nested ones as `zero_optimization.stage`. `zero_keys` are those the installed one accepts."""
    for key, value in config.items():
        line = top(str(key), value, transformers)
        if key == "zero_optimization" and isinstance(value, Mapping):
            below = zero(value, frozenset(zero_keys) if zero_keys else ZERO_KEYS)
        else:
            below = nested(str(key), value, line)
        for one in (line, *below):
            is_number = one is line or key in ("optimizer", "scheduler")
            nobody_fills = not transformers and one.value == "auto" and one.status == SET and is_number
            yield replace(one, status=WRONG, why=UNFILLED, do="a number") if nobody_fills else one


def said(name: str, value: Any, status: str, why: str, do: str = "") -> Line:
    return Line("deepspeed", name, None if isinstance(value, Mapping) else value, status, why, do)


def removed(name: str, value: Any) -> Line:
    return said(name, value, WRONG, f"DeepSpeed 0.19 refuses it: {REMOVED[name]}", "take it out")


def top(key: str, value: Any, transformers: bool) -> Line:
    if key in REMOVED:
        return removed(key, value)
    if key in IGNORED:
        return said(key, value, VOID, IGNORED[key], "take it out")
    if key in TRUE_COSTS and value is True:
        return said(key, value, COSTLY, TRUE_COSTS[key], f"{key}: false once it has been looked at")
    if transformers and key in UNDER_TRANSFORMERS:
        return said(key, value, VOID, UNDER_TRANSFORMERS[key], "take it out")
    if key in TOP:
        return said(key, value, SET, TOP[key])
    return said(
        key, value, VOID, "DeepSpeed reads no key of this name, and does not say so", nearest(key, TOP)
    )


def zero(section: Mapping[str, Any], accepted: Collection[str]) -> Iterator[Line]:
    for key, value in section.items():
        name = f"zero_optimization.{key}"
        if name in REMOVED:
            line = removed(name, value)
        elif key not in accepted:
            why = "DeepSpeed refuses a key that it does not know here"
            line = said(name, value, WRONG, why, nearest(str(key), accepted))
        else:
            why = ZERO.get(str(key)) or ZERO.get(f"stage3_{key}") or "known to the installed DeepSpeed"
            line = said(name, value, SET, why)
        yield line
        yield from nested(name, value, line)


def nested(above: str, section: Any, outer: Line) -> Iterator[Line]:
    """The keys of a block; those of one without effect have none either."""
    for key, value in section.items() if isinstance(section, Mapping) else ():
        name = f"{above}.{key}"
        if outer.status == VOID:
            yield said(name, value, VOID, outer.why, outer.do)
        else:
            yield said(name, value, SET, NESTED.get(str(key), "of this block"))
        yield from nested(name, value, outer)
