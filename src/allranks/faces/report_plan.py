"""The plan held against what was measured, one row a quantity. Pure."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional

from allranks.faces.report_text import number

WITH_ADAPTER = "all parameters, with the adapter"
"""The plan counts the model's own; the trainer counts what it has in hand, the adapter among it."""

ROWS = (
    # (what, unit, where the plan says it, where the run says it)
    ("trainable parameters", "count", ("plan", "trainable_parameters"), ("settings", "trainable_parameters")),
    (WITH_ADAPTER, "count", ("plan", "total_parameters"), ("settings", "total_parameters")),
    ("parameters in the adapter", "count", ("plan", "trainable_parameters"), ("adapter", "parameters")),
    ("tensors in the adapter", "count", ("keep", "adapter", "tensors"), ("adapter", "tensors")),
    ("world size", "count", ("plan", "ranks"), ("settings", "world_size")),
    ("optimizer steps", "count", ("keep", "expect", "total_steps"), ("summary", "last_step")),
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
        "received by a node a step",
        "size",
        ("plan", "traffic", "node_in_bytes_per_step"),
        ("summary", "received_bytes_per_step"),
    ),
    ("step time", "seconds", ("plan", "traffic", "seconds_per_step"), ("summary", "step_seconds")),
)


def compare(
    plan: Mapping[str, Any],
    keep: Mapping[str, Any],
    settings: Mapping[str, Any],
    summary: Mapping[str, Any],
    adapter: Any,
) -> List[Dict[str, Any]]:
    """Rows `{what, unit, planned, measured, error}`; `error` is (measured − planned) / planned.

    A quantity that neither side names has no row; one that only one side names has an empty place.
    """
    sources = {"plan": plan, "keep": keep, "settings": settings, "summary": summary, "adapter": adapter}
    rows = []
    for what, unit, planned_at, measured_at in ROWS:
        planned, measured = _find(sources, planned_at), _find(sources, measured_at)
        if planned is not None and what == WITH_ADAPTER and plan.get("method", "lora") == "lora":
            planned += _find(sources, ("plan", "trainable_parameters")) or 0.0
        if planned is None and (measured is None or measured_at[0] == "adapter"):
            continue
        error = (measured - planned) / planned if planned and measured is not None else None
        rows.append({"what": what, "unit": unit, "planned": planned, "measured": measured, "error": error})
    return rows


def _find(sources: Mapping[str, Any], path: Any) -> Optional[float]:
    value: Any = sources
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    if isinstance(value, list):
        return float(len(value)) or None
    return number(value)
