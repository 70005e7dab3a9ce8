"""The plan against what a run measured, number by number, with the error in percent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allranks.plan.result import Plan

NAMES = (
    "trainable_parameters",
    "total_parameters",
    "world_size",
    "steps",
    "samples",
    "gpu_bytes",
    "host_bytes",
    "received_bytes_per_step",
    "seconds_per_step",
    "tokens_per_second",
    "seconds",
)
"""What can be compared, in the order of a report. `gpu_bytes` is a rank's peak, `host_bytes` a node's."""


def compare(plan: Plan, measured: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Rows {name, planned, measured, error_percent} for each name that was measured, in the order of NAMES.

    `error_percent` is (planned - measured) / measured · 100; None where the plan has no number or the measured one
    is 0. A name that is not known here is left out; a measured None is no measurement.
    """
    expected = planned(plan)
    rows: list[dict[str, Any]] = []
    for name in NAMES:
        value = measured.get(name)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        guess = expected.get(name)
        error = (guess - value) / value * 100 if guess is not None and value else None
        rows.append({"name": name, "planned": guess, "measured": value, "error_percent": error})
    return rows


def planned(plan: Plan) -> dict[str, Any]:
    """The plan's number for each of NAMES; None where it has none."""
    memory, traffic = plan.memory or {}, plan.traffic or {}
    seconds, tokens = traffic.get("seconds_per_step"), traffic.get("tokens_per_step")
    return {
        "trainable_parameters": plan.trainable_parameters,
        "total_parameters": plan.total_parameters,
        "world_size": plan.world_size,
        "steps": traffic.get("steps"),
        "samples": traffic.get("samples"),
        "gpu_bytes": (memory.get("gpu_bytes") or {}).get("total"),
        "host_bytes": memory.get("host_bytes"),
        "received_bytes_per_step": traffic.get("received_bytes_per_step"),
        "seconds_per_step": seconds,
        "tokens_per_second": tokens / seconds if tokens and seconds else None,
        "seconds": traffic.get("seconds"),
    }
