"""Compares the plan with the measurements, one row per quantity. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from allranks.core.untrusted import number

WITH_ADAPTER = "all parameters, with the adapter"
"""The plan counts the model's own parameters; the trainer counts those of its model, which include the adapter."""

STEPS, RECEIVED = ("summary", "last_step"), ("summary", "received_bytes_per_step")

ROWS = (
    # (what, unit, where the plan says it, where the run says it)
    ("trainable parameters", "count", ("plan", "trainable_parameters"), ("settings", "trainable_parameters")),
    (WITH_ADAPTER, "count", ("plan", "total_parameters"), ("settings", "total_parameters")),
    ("parameters in the adapter", "count", ("plan", "trainable_parameters"), ("adapter", "parameters")),
    ("tensors in the adapter", "count", ("keep", "adapter", "tensors"), ("adapter", "tensors")),
    ("world size", "count", ("plan", "ranks"), ("settings", "world_size")),
    ("optimizer steps", "count", ("keep", "expect", "total_steps"), STEPS),
    ("ZeRO stage", "count", ("plan", "deepspeed", "zero_optimization", "stage"), ("settings", "zero_stage")),
    (
        "reduce bucket",
        "count",
        ("plan", "deepspeed", "zero_optimization", "reduce_bucket_size"),
        ("settings", "reduce_bucket_size"),
    ),
    (
        "prefetch bucket",
        "count",
        ("plan", "deepspeed", "zero_optimization", "stage3_prefetch_bucket_size"),
        ("settings", "prefetch_bucket_size"),
    ),
    (
        "peak GPU memory of a rank",
        "size",
        ("plan", "memory", "gpu_allocated_bytes"),
        ("summary", "gpu_peak_bytes"),
    ),
    (
        "memory of a node",
        "size",
        ("plan", "memory", "host_parts", "train"),
        ("summary", "node_rss_bytes"),
    ),
    (
        "received per node and step",
        "size",
        ("plan", "traffic", "node_in_bytes_per_step"),
        RECEIVED,
    ),
    ("step time", "seconds", ("plan", "traffic", "seconds_per_step"), ("summary", "step_seconds")),
)


LOOPBACK = "loopback"
"""If a plan has this network name, all its nodes are one machine (`allranks.plan.hardware`)."""

NOT_OURS = "not comparable: the loopback also carries what other programs of the machine send"
NOT_COMPLETE = "not comparable: the run did not complete"

EXACT = "count"
"""A unit whose numbers must be equal; all other units are estimates."""


def compare(
    plan: Mapping[str, Any],
    keep: Mapping[str, Any],
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
    adapter: Any,
    state: Any = "succeeded",
) -> List[Dict[str, Any]]:
    """Rows `{what, unit, planned, measured, difference, why, wrong}`; `difference` is (measured − planned) / planned.

    A quantity that neither side has gets no row; if only one side has it, the other cell is empty. `why` is the
    reason if the two cannot be compared; then there is no difference. `wrong`: the two had to be equal and are not.
    """
    sources = {"plan": plan, "keep": keep, "settings": settings, "summary": summary, "adapter": adapter}
    rows = []
    for what, unit, planned_at, measured_at in ROWS:
        planned, measured = _find(sources, planned_at), _find(sources, measured_at)
        if planned is not None and what == WITH_ADAPTER and plan.get("method", "lora") == "lora":
            planned += _find(sources, ("plan", "trainable_parameters")) or 0.0
        why = ""
        if measured_at == RECEIVED and planned is not None and _on_loopback(plan):
            why, measured = NOT_OURS, None
        if measured_at == STEPS and planned is not None and state != "succeeded":
            why = NOT_COMPLETE
        if planned is None and (measured is None or measured_at[0] == "adapter"):
            continue
        if planned is None and measured_at == RECEIVED and _one_node(plan):
            continue
        difference = (measured - planned) / planned if planned and measured is not None and not why else None
        wrong = unit == EXACT and bool(difference)
        rows.append(
            {
                "what": what,
                "unit": unit,
                "planned": planned,
                "measured": measured,
                "difference": difference,
                "why": why,
                "wrong": wrong,
            }
        )
    return rows


def _one_node(plan: Mapping[str, Any]) -> bool:
    """Whether no traffic of the run crosses a network. If so, incoming traffic belongs to other programs."""
    ranks = plan.get("ranks")
    places = [one.get("node") for one in ranks if isinstance(one, Mapping)] if isinstance(ranks, list) else []
    return len(set(map(str, places))) == 1


def _on_loopback(plan: Mapping[str, Any]) -> bool:
    """Whether all nodes of the plan are one machine."""
    traffic = plan.get("traffic")
    networks = traffic.get("networks") if isinstance(traffic, Mapping) else None
    first = networks[0] if isinstance(networks, list) and networks else None
    return isinstance(first, Mapping) and first.get("name") == LOOPBACK


def _find(sources: Mapping[str, Any], path: Any) -> Optional[float]:
    value: Any = sources
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return float(len(value)) or None
    return number(value)
