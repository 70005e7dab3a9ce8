"""Advice of guides that a run cannot use, other engines for very large models, and binding."""

from __future__ import annotations

from typing import Any

from allranks.plan.planning_input import Case
from allranks.plan.smaller_settings import quantized
from allranks.plan.traffic import step_time, traffic_of


def refused(case: Case) -> list[dict[str, str]]:
    """Settings that guides recommend and that this run cannot use, with the reason and the number."""
    traffic = traffic_of(case)
    gradients = sum(size for name, size in traffic.by_collective.items() if name.startswith("reduce"))
    share = gradients / traffic.received if traffic.received else 0.0
    found = [
        {
            "name": "1-bit Adam",
            "reason": "DeepSpeed 0.19 has no OneBitAdam, earlier ones refuse it with ZeRO; it compresses gradients: "
            f"{gradients / 1e6:,.0f} MB of {traffic.received / 1e9:,.1f} GB per step ({share:.2%}).",
        },
        {
            "name": "pipeline parallelism",
            "reason": "DeepSpeed's pipeline needs a PipelineModule and ZeRO 1 at most (runtime/pipe/engine.py); "
            "models of transformers are of another class.",
        },
        {
            "name": "communication_data_type",
            "reason": "fp16, bf16 and fp32 are taken in a JSON of your own; it is the precision of reduced gradients, "
            f"{share:.2%} of the traffic, and gathers are not touched.",
        },
    ]
    return found


HUGE = 100_000_000_000
"""Parameters above which the plan mentions other engines."""


FAR = 3.0
"""How many times faster another way must be, by the same arithmetic, before the plan mentions it."""


def other_roads(case: Case) -> list[dict[str, Any]]:
    """Other ways to train the model. Those with `seconds_per_step` are computed from the plan's own assumptions. The
    numbers of the engines for very large models with routed experts come from public reports. allranks has measured
    neither."""
    found = [road for road in (_pipeline(case), _four_bits(case)) if road is not None]
    if not case.model.experts or case.model.total_parameters < HUGE:
        return found
    return [
        *found,
        {
            "name": "ms-swift with Megatron",
            "why": "expert and pipeline parallelism move activations, not weights: "
            'its documents say "typically 10 times" on models with routed experts.',
        },
        {
            "name": "NeMo",
            "why": "LoRA on DeepSeek-V3 with tensor parallelism 8 and pipeline parallelism 5: documented for 40 GPUs.",
        },
        {
            "name": "KTransformers",
            "why": "experts on the CPU: reported with 70 GB of GPU and 1.3 TB of host memory, 40 tokens per second.",
        },
    ]


def _pipeline(case: Case) -> dict[str, Any] | None:
    """Pipeline stages over the nodes: at each boundary a node sends the hidden state of each token, forward and
    backward."""
    planned = _planned(case)
    if planned is None or case.model.total_parameters < HUGE:
        return None
    total, compute = planned
    tokens = case.tokens * case.setting.accumulation * case.ranks
    sent = 2 * tokens * case.model.hidden * case.setting.weight_bytes
    at_best = max(compute, sent / case.hardware.network.bytes_per_second)
    if total < FAR * at_best:
        return None
    weights, held = traffic_of(case).node_out, case.base_bytes
    return {
        "name": "Megatron with pipeline parallelism over the nodes",
        "seconds_per_step": at_best,
        "times_faster": total / at_best,
        "why": f"a node sends {sent / 1e9:,.1f} GB of activations per step, not {weights / 1e12:,.2f} TB of weights: "
        f"at best {at_best:,.0f} s per step, by compute, {total / at_best:,.0f} times faster (pipeline bubbles and "
        "the experts' exchange inside a node come on top). It takes another trainer (ms-swift or NeMo), the base once "
        f"more in its format ({held / 2**40:,.2f} TiB), and {held / case.ranks / 2**30:,.1f} GiB of them per GPU.",
    }


def _four_bits(case: Case) -> dict[str, Any] | None:
    """The base in 4 bits, one copy per node; its layers are split over the node's GPUs, which work one after the
    other."""
    planned, made, gpu = _planned(case), quantized(case), case.hardware.gpu
    if planned is None or made is None or gpu is None or max(case.nodes) < 2:
        return None
    total, compute = planned
    share = made.case.base_bytes / max(case.nodes)
    if share + case.activations.kept + case.activations.layer > 0.85 * gpu.memory_bytes:
        return None
    at_best = compute * max(case.nodes)
    if total < FAR * at_best:
        return None
    return {
        "name": "a base of 4 bits, split by layers over the GPUs of each node",
        "seconds_per_step": at_best,
        "times_faster": total / at_best,
        "why": f"{share / 2**30:,.1f} GiB of weights per GPU and nothing to gather; nodes exchange the adapters' "
        f"gradients alone. One GPU of a node works at a time: at best {at_best:,.0f} s per step, "
        f"{total / at_best:,.1f} times faster, before the weights are unpacked at each use. It takes bitsandbytes, "
        "rounded weights, and your own script (device_map by layers, data parallel over the nodes).",
    }


def _planned(case: Case) -> tuple[float, float] | None:
    """(seconds of the planned step, those of its compute) where weights cross between nodes."""
    if not case.sharded or len(case.nodes) < 2 or not case.setting.uses_gpu:
        return None
    time = step_time(case, traffic_of(case), case.hardware.network)
    return None if time.compute is None else (time.total, time.compute)


def binding(case: Case) -> str:
    """NUMA and HCA binding, as far as it needs anything (NCCL user guide, NCCL_IB_HCA; torch 2.9 and later,
    `torch/numa/binding.py`)."""
    if not case.setting.uses_gpu or max(case.nodes) == 1:
        return ""
    offloads = case.zero.offload_parameters or case.zero.offload_optimizer
    worth = "with offload it is worth having" if offloads else "without offload little goes through the CPU"
    return (
        "NCCL pairs each GPU with its nearest HCA by itself; set NCCL_IB_HCA only to leave ports out. Processes are "
        f"not bound to NUMA nodes: {worth}; --numa-binding=node after torchrun in the scripts of plan "
        "--render does it (torch 2.9 or later)."
    )
