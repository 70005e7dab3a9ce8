"""What guides recommend and a run cannot use, other engines for very large models, and binding."""

from __future__ import annotations

from allranks.plan.planning_input import Case
from allranks.plan.traffic import traffic_of


def refused(case: Case) -> list[dict[str, str]]:
    """What guides recommend and this run cannot use, with the reason and the number."""
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
            "transformers' models are none.",
        },
        {
            "name": "communication_data_type",
            "reason": "fp16, bf16 and fp32 are taken in a JSON of your own; it is the precision of reduced gradients, "
            f"{share:.2%} of the traffic, and gathers are not touched.",
        },
    ]
    return found


HUGE = 100_000_000_000
"""Parameters above which other engines are worth a word."""


def other_roads(case: Case) -> list[dict[str, str]]:
    """Other engines for very large models with routed experts, as people report them (not measured by us)."""
    if not case.model.experts or case.model.total_parameters < HUGE:
        return []
    return [
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
