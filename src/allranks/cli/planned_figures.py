"""The figures that a run file's plan predicts for the log of its training."""

from __future__ import annotations

import os

from allranks.diagnose.figures import GIB, TOLERANCE, Planned

ROUNDED = 0.01
"""A tolerance: logs round the number of parameters, and some include the adapter's."""


def planned_figures(run_file: str) -> Planned:
    """Each figure with its smallest and its largest value. Unknown figures are left out."""
    from allranks import spec
    from allranks.runs.inspection import planned

    run = spec.load_typed(spec.Typed(run_file, None, None, None, False), (), (), os.environ, lambda: None)
    plan = planned(run, asks_hub=False)
    exact: dict[str, object] = {"world_size": plan.world_size}
    if plan.setting.known:
        exact["batch_of_a_rank"] = plan.setting.micro_batch
        exact["accumulation"] = plan.setting.accumulation
        exact["batch"] = plan.world_size * plan.setting.micro_batch * plan.setting.accumulation
        exact["steps"] = plan.setting.max_steps
        exact["trainable"] = plan.trainable_parameters
    zero = (plan.deepspeed or {}).get("zero_optimization", {})
    exact["reduce_bucket"] = zero.get("reduce_bucket_size")
    exact["prefetch_bucket"] = zero.get("stage3_prefetch_bucket_size")
    found = {name: (float(n), float(n)) for name, n in exact.items() if isinstance(n, int) and n > 0}
    if plan.total_parameters:
        found["parameters"] = ((1 - ROUNDED) * plan.total_parameters, (1 + ROUNDED) * plan.total_parameters)
    memory = plan.memory or {}
    weights, peak = memory.get("gpu_bytes", {}).get("parameters"), memory.get("gpu_allocated_bytes")
    if weights and peak:
        found["allocated_gib"] = ((1 - TOLERANCE) * weights / GIB, (1 + TOLERANCE) * peak / GIB)
    return found
