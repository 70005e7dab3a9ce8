"""What a change would do: the nearest setting that fits, and the best ways to be faster, each with its figures.

Every suggestion is the case planned again with one thing different; nothing is guessed from the first plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from allranks.plan.case import Case
from allranks.plan.memory import DOES_NOT_FIT, FITS, memory_of
from allranks.plan.traffic import step_time, traffic_of
from allranks.plan.versions import SEQUENTIAL_GATHERS

GIB = 2**30
MOST_NODES = 128


@dataclass(frozen=True)
class Change:
    """`paste` is what to write, `case` what is planned then. `cost` says what it takes away."""

    name: str
    paste: str
    case: Case
    cost: str = ""


@dataclass(frozen=True)
class Tried:
    """A change with its figures. `seconds` and `tokens` are of one step; `reason` says why it is not offered."""

    change: Change
    verdict: str | None
    seconds: float
    tokens_per_second: float
    reason: str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "name": self.change.name,
            "setting": self.change.paste,
            "cost": self.change.cost,
            "seconds_per_step": self.seconds,
            "tokens_per_second": self.tokens_per_second,
            "memory_verdict": self.verdict,
            "feasible": not self.reason,
            "reason": self.reason,
        }


def _tokens(case: Case) -> int:
    return case.tokens * case.setting.accumulation * case.ranks


def tried(change: Change, planned: str | None = None) -> Tried:
    """A change with its figures; it is not offered where it does not fit, or fits worse than what was `planned`."""
    time = step_time(change.case, traffic_of(change.case), change.case.hardware.network)
    memory = memory_of(change.case)
    reason = ""
    if memory.verdict == DOES_NOT_FIT or (memory.verdict not in (FITS, None) and memory.verdict != planned):
        short = memory.total - (memory.usable or 0)
        reason = f"needs {memory.total / GIB:.1f} GiB a GPU, {abs(short) / GIB:.1f} GiB " + (
            "more than there is" if short > 0 else "less than there is: too close"
        )
    rate = _tokens(change.case) / time.total if time.total else 0.0
    return Tried(change, memory.verdict, time.total, rate, reason)


def _with(case: Case, **changes: Any) -> Case:
    """The case with its setting or its ZeRO changed."""
    zero = {key: value for key, value in changes.items() if hasattr(case.zero, key)}
    setting = {key: value for key, value in changes.items() if hasattr(case.setting, key)}
    rest = {key: value for key, value in changes.items() if key not in zero and key not in setting}
    return dataclasses.replace(
        case,
        zero=dataclasses.replace(case.zero, **zero),
        setting=dataclasses.replace(case.setting, **setting),
        **rest,
    )


def _on_nodes(case: Case, nodes: tuple[int, ...]) -> Case:
    return dataclasses.replace(case, nodes=nodes, padded_to=case.padded_to or case.ranks)


def nearest_that_fits(case: Case) -> list[Change]:
    """Changes that make the run fit: a setting alone, least loss first, or several together; offload; more nodes.
    Each is enough by itself. Empty where nothing helps."""
    found: list[Change] = []
    for change in _combined(case):
        if memory_of(change.case).verdict == FITS:
            found.append(change)
            break
    for finder in (_offloaded, _more_nodes):
        change = finder(case)
        if change is not None:
            found.append(change)
    return found


def _combined(case: Case) -> Iterator[Change]:
    """Each setting alone, then each on top of those before it."""
    singles = list(_smaller(case))
    yield from singles
    name, paste, planned = "", "", case
    for step in _STEPS:
        change = step(planned)
        if change is None:
            continue
        name = f"{name}, {change.name}" if name else change.name
        paste = f"{paste}\n{change.paste}" if paste else change.paste
        planned = change.case
        yield Change(name, paste, planned, change.cost)


def _smaller(case: Case) -> Iterator[Change]:
    for step in _STEPS:
        change = step(case)
        if change is not None:
            yield change


def _sequential(case: Case) -> Change | None:
    known_old = case.versions.deepspeed is not None and case.versions.deepspeed < SEQUENTIAL_GATHERS
    if not case.sharded or case.zero.sequential or known_old:
        return None
    paste = '"zero_optimization": {"stage3_allgather_sequential": true}'
    return Change("gather tensor by tensor", paste, _with(case, sequential=True), "more, smaller gathers")


def _not_reentrant(case: Case) -> Change | None:
    if not case.holds_every_layer:
        return None
    return Change("checkpoint without reentering", "use_reentrant_gc: false", _with(case, reentrant=False))


def _checkpoint(case: Case) -> Change | None:
    if case.setting.checkpointing:
        return None
    change = _with(case, checkpointing=True, reentrant=False)
    return Change(
        "gradient checkpointing", "disable_gradient_checkpointing: false", change, "a third more compute"
    )


def _split_weights(case: Case) -> Change | None:
    if case.zero.stage == 3 or case.ranks == 1:
        return None
    return Change(
        "ZeRO-3", "deepspeed: auto", _with(case, stage=3, quantization_bits=None), "gathers weights each step"
    )


def _one_sample(case: Case) -> Change | None:
    if case.setting.micro_batch == 1:
        return None
    batch = case.setting.micro_batch
    paste = (
        f"per_device_train_batch_size: 1\ngradient_accumulation_steps: {case.setting.accumulation * batch}"
    )
    change = _with(case, micro_batch=1, accumulation=case.setting.accumulation * batch)
    return Change("one sample at a time", paste, change, f"{batch} times as many gathers a step")


def _fused_loss(case: Case) -> Change | None:
    if case.setting.liger:
        return None
    return Change(
        "Liger's fused loss", "enable_liger_kernel: true", _with(case, liger=True), "needs liger-kernel"
    )


def _shorter(case: Case) -> Change | None:
    for cutoff in (4096, 2048, 1024, 512):
        if cutoff < case.setting.cutoff:
            smaller = _with(case, cutoff=cutoff)
            if cutoff == 512 or memory_of(smaller).verdict == FITS:
                return Change(
                    f"samples of {cutoff} tokens", f"cutoff_len: {cutoff}", smaller, "longer samples are cut"
                )
    return None


_STEPS: tuple[Callable[[Case], Change | None], ...] = (
    _sequential,
    _not_reentrant,
    _checkpoint,
    _fused_loss,
    _one_sample,
    _split_weights,
    _shorter,
)


def _more_nodes(case: Case) -> Change | None:
    """The fewest nodes of the same kind with which it fits."""
    if not case.sharded:
        return None
    a_node = max(case.nodes)
    for count in range(len(case.nodes) + 1, MOST_NODES + 1):
        larger = _on_nodes(case, (a_node,) * count)
        if memory_of(larger).verdict == FITS:
            paste = f"nodes: {count} nodes, gpus: {a_node}"
            return Change(
                f"{count} nodes of {a_node} GPUs", paste, larger, f"{count - len(case.nodes)} more nodes"
            )
    return None


def _offloaded(case: Case) -> Change | None:
    if not case.setting.uses_gpu or case.zero.offload_parameters or case.setting.quantization_bits:
        return None
    moved = _with(case, stage=3, offload_parameters="cpu", offload_optimizer="cpu")
    memory = memory_of(moved)
    if memory.verdict != FITS:
        return None
    cost = f"{memory.host_total / GIB:,.0f} GiB of host memory a node, and every gather waits for PCIe"
    return Change("offload to host memory", "deepspeed: zero3-offload", moved, cost)


def faster(case: Case) -> list[Tried]:
    """What may shorten the run, tried: best first, the infeasible after them with their reason."""
    base = tried(Change("as planned", "", case))
    results = [_compared(tried(change, base.verdict), base) for change in _faster(case)]
    return sorted(results, key=lambda result: (bool(result.reason), -result.tokens_per_second))


def _compared(result: Tried, base: Tried) -> Tried:
    if (
        not result.reason
        and base.tokens_per_second
        and result.tokens_per_second < 1.02 * base.tokens_per_second
    ):
        change = result.tokens_per_second / base.tokens_per_second - 1
        return dataclasses.replace(result, reason=f"{change:+.0%} tokens a second: no gain")
    return result


def _faster(case: Case) -> Iterator[Change]:
    batch = case.setting.micro_batch
    for factor in (2, 4):
        paste = f"per_device_train_batch_size: {batch * factor}"
        yield Change(f"micro-batch {batch * factor}", paste, _with(case, micro_batch=batch * factor))
    accumulation = case.setting.accumulation * 4
    paste = f"gradient_accumulation_steps: {accumulation}"
    yield Change(f"accumulation {accumulation}", paste, _with(case, accumulation=accumulation))
    if case.smoke_test:
        paste = "remove NCCL_P2P_DISABLE, NCCL_SHM_DISABLE and NCCL_IB_DISABLE from env"
        yield Change(
            "the smoke test's network settings off", paste, dataclasses.replace(case, smoke_test=False)
        )
    if len(case.nodes) > 1:
        a_node = max(case.nodes)
        count = len(case.nodes) + 1
        more = _on_nodes(case, (*case.nodes, a_node))
        yield Change("one more node", f"{count} nodes of {a_node} GPUs under `nodes:`", more, "one more node")
    if case.sharded and case.setting.uses_gpu:
        yield from _sharing(case)


def _sharing(case: Case) -> Iterator[Change]:
    a_node = max(case.nodes)
    if len(case.nodes) > 1 and a_node > 1 and case.zero.hpz == 1:
        paste = f'"zero_optimization": {{"zero_hpz_partition_size": {a_node}}}'
        yield Change("a second copy of the weights in each node (hpZ)", paste, _with(case, hpz=a_node))
    if not case.zero.quantized_weights:
        paste = '"zero_optimization": {"zero_quantized_weights": true}'
        yield Change(
            "weights gathered in 8 bits (qwZ)", paste, _with(case, quantized_weights=True), "rounded weights"
        )
    if case.adapters:
        change = _with(case, quantization_bits=4)
        paste = "quantization_bit: 4"
        yield Change("a base of 4 bits on every GPU", paste, change, "ZeRO-3 no longer splits the base")
    change = _offloaded(case)
    if change is not None:
        yield change


def refused(case: Case) -> list[dict[str, str]]:
    """What guides recommend and this run cannot use, with the reason and the number."""
    traffic = traffic_of(case)
    gradients = sum(size for name, size in traffic.by_collective.items() if name.startswith("reduce"))
    share = gradients / traffic.received if traffic.received else 0.0
    found = [
        {
            "name": "1-bit Adam",
            "reason": "DeepSpeed's OneBitAdam works with ZeRO 1 at most, and it compresses gradients: "
            f"{gradients / 1e6:,.0f} MB of {traffic.received / 1e9:,.1f} GB a step ({share:.2%}).",
        },
        {
            "name": "pipeline parallelism",
            "reason": "DeepSpeed's pipeline needs a PipelineModule and ZeRO 1 at most; transformers' models are none.",
        },
        {
            "name": "communication_data_type",
            "reason": f"it is the precision of reduced gradients, {share:.2%} of the traffic; gathers are not touched.",
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
            "why": "experts on the CPU: reported with 70 GB of GPU and 1.3 TB of host memory, 40 tokens a second.",
        },
    ]


def binding(case: Case) -> str:
    """NUMA and HCA binding, as far as it needs anything."""
    if not case.setting.uses_gpu or max(case.nodes) == 1:
        return ""
    return (
        "NCCL pairs each GPU with its nearest HCA by itself; set NCCL_IB_HCA only to leave ports out. "
        "torchrun does not pin processes: with offload, numactl --cpunodebind per local rank keeps host copies near."
    )
