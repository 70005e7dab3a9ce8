"""Bytes per step, by collective, and their time on a network; the time of compute; the limit of the step.

Rings: in an all-gather or a reduce-scatter of S bytes over N ranks every rank receives S·(N-1)/N bytes, and every node
sends the same amount, since the ring enters each node once (NCCL; nccl-tests, PERFORMANCE.md: bus
bandwidth = algorithm bandwidth · (N-1)/N). An all-reduce is both. ZeRO-3's gathers: `gather.py`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from allranks.plan.first_step import first_step, loading
from allranks.plan.hardware import Network
from allranks.plan.planning_input import Case

EFFICIENCY_DENSE, EFFICIENCY_EXPERTS = 0.40, 0.15
"""Share of the GPU's peak that training reaches: 0.40 for dense models with Hugging Face code (PaLM, arXiv 2204.02311,
reports 0.46 with tuned code; MegaScale, arXiv 2402.15627, 0.55); 0.15 if a Python loop goes through the
experts (assumed; ms-swift reports about 10 times the speed for Megatron's grouped kernels on DeepSeek-class models)."""

LATENCY_SECONDS = 60e-6
"""The start of one all-gather on a GPU: NCCL's launch and DeepSpeed's bookkeeping (DeepSpeed#1069: 0.4 ms for both in
2021; since then gathers are coalesced)."""


@dataclass(frozen=True)
class Traffic:
    """Bytes of one optimizer step: `received` by one rank, `node_out` sent by one node, `by_collective` the received
    ones of each kind. `gathers` is the number of times that a micro-step gathers the whole base."""

    received: int
    node_out: int
    by_collective: dict[str, int]
    one_gather: int
    gathers: float
    calls: int


def traffic_of(case: Case) -> Traffic:
    """Bytes in the steady state. A rank alone receives nothing."""
    ranks, accumulation = case.ranks, case.setting.accumulation
    share = (ranks - 1) / ranks
    trained, width = case.trained.parameters, case.setting.weight_bytes
    one = case.model.total_parameters * width * share
    parts: dict[str, float] = {}
    calls = 0
    if case.sharded:
        quantized = 0.5 if case.zero.quantized_weights else 1.0
        parts["all_gather"] = case.gathered.received * share * accumulation * quantized
        parts["all_gather"] += (
            case.gathered.persistent * share
        )  # the persistent tensors, after the optimizer's step
        parts["reduce_scatter"] = trained * width * share * accumulation
        calls = case.gathered.calls * accumulation
    elif case.zero.stage == 2:
        parts["reduce_scatter"] = trained * width * share * accumulation
        parts["all_gather"] = trained * width * share
    elif case.zero.stage == 1:
        parts["all_reduce"] = 2 * trained * width * share
        parts["all_gather"] = trained * width * share
    else:
        parts["all_reduce"] = 2 * trained * case.adapter_width * share
    received = sum(parts.values())
    return Traffic(
        received=int(received),
        node_out=int(_leaving(case, received)) if len(case.nodes) > 1 else 0,
        by_collective={name: int(size) for name, size in parts.items()},
        one_gather=int(one),
        gathers=case.gathered.received / (case.model.total_parameters * width) if case.sharded else 0.0,
        calls=calls,
    )


def _leaving(case: Case, received: float) -> float:
    """With hpZ (arXiv 2306.10209) only the forward gathers leave the node: the others find a copy inside."""
    if case.zero.hpz <= 1 or not case.sharded:
        return received
    return received / max(1.0, _uses(case))


@dataclass(frozen=True)
class StepTime:
    """Seconds of one optimizer step on one network. `compute` is None if the GPU's peak is not known."""

    network: Network
    communication: float
    compute: float | None
    total: float
    limit: str


def step_time(case: Case, traffic: Traffic, network: Network) -> StepTime:
    """Between nodes at the network's rate, within a node at NVLink's or PCIe's, whichever takes longer.

    If the next gather may run ahead, the longer of communication and compute counts; a unit larger than
    `stage3_max_live_parameters` (a layer's experts) leaves no room to run ahead, so both add up.
    """
    crossing = traffic.node_out / network.bytes_per_second if len(case.nodes) > 1 else 0.0
    inside = traffic.received / _link(case)
    communication = max(crossing, inside) + traffic.calls * LATENCY_SECONDS
    if case.zero.offload_parameters and case.hardware.gpu:
        communication += _from_host(case)
    compute = compute_seconds(case)
    overlaps = case.zero.overlap and case.unit <= case.zero.max_live
    total = max(communication, compute or 0.0) if overlaps else communication + (compute or 0.0)
    if compute is not None and compute > communication:
        limit = "compute"
    elif crossing >= inside:
        limit = f"network between nodes ({network.name})"
    else:
        limit = "links inside a node"
    return StepTime(network, communication, compute, total, limit)


def _link(case: Case) -> float:
    link = case.hardware.gpu.link if case.hardware.gpu and case.hardware.gpu.link else 20e9
    if case.smoke_test:  # NCCL_P2P_DISABLE and NCCL_SHM_DISABLE: over the loopback's sockets
        return 5e9
    return link if max(case.nodes) > 1 else float("inf")


def _from_host(case: Case) -> float:
    """Offloaded parts come over PCIe before they can be gathered: 24 GB/s to a GPU (AzNHC, host copy on A100)."""
    return case.base_bytes / case.ranks * case.setting.accumulation * max(1.0, _uses(case)) / 24e9


def _uses(case: Case) -> float:
    return case.gathered.received / (case.model.total_parameters * case.setting.weight_bytes)


def compute_seconds(case: Case) -> float | None:
    """Floating-point work of a step over what a GPU reaches. A token costs 2 a parameter it passes forward, again
    when recomputed, 2 backward for the input's gradient and 2 where the weight trains (Kaplan et al., arXiv
    2001.08361: 6 in all); attention adds 2·2·s·heads·(qk + v) a layer, halved by causality."""
    gpu = case.hardware.gpu
    if gpu is None or not gpu.flops:
        return None
    passes = 4 + (2 if case.setting.checkpointing else 0) + (0 if case.adapters else 2)
    shape = case.model.attention
    pairs = case.setting.cutoff * shape.heads * (shape.qk_dim + shape.v_dim) * case.model.layers
    active = case.model.active_parameters - (0 if case.model.tied else case.embedding_parameters)
    a_token = active * passes + pairs * (passes / 2)
    if case.in_slices:  # their backward computes each slice once more
        a_token += 2 * case.model.expert_parameters * case.model.experts_per_token // case.model.experts
    efficiency = EFFICIENCY_EXPERTS if case.model.experts else EFFICIENCY_DENSE
    return a_token * case.tokens * case.setting.accumulation / (gpu.flops * efficiency)


def traffic_json(case: Case, traffic: Traffic) -> dict[str, Any]:
    """As in the plan's JSON. Times are of the first network, None on CPU and if the GPU is not known."""
    times = [step_time(case, traffic, network) for network in case.hardware.networks]
    first = times[0]
    timed = first.compute is not None and case.setting.uses_gpu
    a_step = case.setting.micro_batch * case.setting.accumulation * case.ranks
    return {
        "received_bytes_per_step": traffic.received,
        "node_out_bytes_per_step": traffic.node_out,
        "node_in_bytes_per_step": _arriving(case, traffic),
        "by_collective": traffic.by_collective,
        "one_gather_bytes": traffic.one_gather,
        "gathers_per_micro_step": round(traffic.gathers, 3),
        "samples_per_step": a_step,
        "tokens_per_step": a_step * case.setting.cutoff,
        "compute_seconds_per_step": first.compute,
        "networks": [_network_json(case, traffic, time, a_step) for time in times],
        "seconds_per_step": first.total if timed else None,
        "limit": first.limit if case.setting.uses_gpu else None,
        **_whole_run(case, first.total if timed else None),
        "loading": loading(case),
        "first_step": first_step(case, first.total if timed else None),
    }


def _arriving(case: Case, traffic: Traffic) -> int | None:
    """Bytes that a node's interface counts as received: on a ring as much as leaves it; if all nodes are one
    machine, everything that all ranks receive, over its loopback. None within one node: nothing need cross it."""
    if case.one_machine:
        if case.setting.uses_gpu:  # NCCL goes through shared memory and NVLink there
            return None
        return traffic.received * case.ranks
    return traffic.node_out if len(case.nodes) > 1 else None


def _whole_run(case: Case, step_seconds: float | None) -> dict[str, Any]:
    """Steps, samples, time and cost of the whole run; `cost` in the currency of the price that was given."""
    steps, samples = planned_steps(case)
    seconds = step_seconds * steps if steps and step_seconds is not None else None
    hours = seconds * case.ranks / 3600 if seconds is not None else None
    return {
        "steps": steps,
        "samples": samples,
        "dataset_samples": case.samples,
        "dataset_share": samples / case.samples if samples and case.samples else None,
        "seconds": seconds,
        "gpu_hours": hours,
        "price_per_gpu_hour": case.price,
        "cost": hours * case.price if hours is not None and case.price is not None else None,
    }


def planned_steps(case: Case) -> tuple[int | None, int | None]:
    """(optimizer steps, samples seen); None if neither `max_steps` nor the dataset's size is known, or if several
    samples share a sequence. transformers rounds the steps up (5.6, `trainer.py`, `set_initial_training_values`)."""
    a_step = case.setting.micro_batch * case.setting.accumulation * case.ranks
    if case.setting.max_steps:
        return case.setting.max_steps, case.setting.max_steps * a_step
    if case.samples and not case.setting.packs:
        steps = max(1, math.ceil(-(-case.samples // a_step) * case.setting.epochs))
        return steps, steps * a_step
    return None, None


def _network_json(case: Case, traffic: Traffic, time: StepTime, a_step: int) -> dict[str, Any]:
    network = time.network
    modelled = case.setting.uses_gpu
    return {
        "name": network.name,
        "bytes_per_second": network.bytes_per_second,
        "source": network.source,
        "assumed": network.assumed,
        "gather_seconds": traffic.one_gather / network.bytes_per_second if len(case.nodes) > 1 else 0.0,
        "communication_seconds_per_step": time.communication,
        "seconds_per_step": time.total if modelled else None,
        "tokens_per_second": a_step * case.setting.cutoff / time.total if modelled and time.total else None,
        "limit": time.limit if modelled else None,
    }
