"""Plans each way in which ZeRO-3 can gather a layer's routed experts, and recommends one."""

from __future__ import annotations

from typing import Any

from allranks.core import WARN, Finding
from allranks.plan.memory import FITS, memory_of
from allranks.plan.planning_input import Case
from allranks.plan.smaller_settings import USUAL_AT_ONCE, in_lockstep
from allranks.plan.traffic import step_time, traffic_of
from allranks.spec import LOCKSTEP, Run

TRIED = (USUAL_AT_ONCE,)
"""Numbers of experts gathered at a time that are planned in addition to the run file's own number."""

GAIN = 1.02
"""How much faster lockstep must be to be recommended if both fit."""


def ways(case: Case) -> list[dict[str, Any]]:
    """One row for each way: the experts that are gathered together, the memory per GPU, the step's time and traffic.
    One row is `recommended`. Empty for a model without routed experts, and if the weights are not split."""
    if not case.sharded or not case.model.experts:
        return []
    if case.model.fused_experts:
        return [_fused(case)]
    numbers = sorted({0, case.at_once, *(n for n in TRIED if n < case.model.experts)})
    rows = [_row(case if n == case.at_once else in_lockstep(case, n), n) for n in numbers]
    chosen = _recommended(rows)
    for row in rows:
        row["recommended"] = row is chosen
        row["planned"] = row["at_once"] == case.at_once
    return rows


def _row(case: Case, at_once: int) -> dict[str, Any]:
    memory, traffic = memory_of(case), traffic_of(case)
    time = step_time(case, traffic, case.hardware.network)
    timed = time.compute is not None and case.setting.uses_gpu
    return {
        "way": LOCKSTEP if at_once else "leaf",
        "at_once": at_once,
        "setting": f"experts: lockstep\nexperts_at_once: {at_once}" if at_once else "experts: leaf",
        "working_set_bytes": case.gathered.peak,
        "gpu_bytes": memory.total,
        "memory_verdict": memory.verdict,
        "received_bytes_per_step": traffic.received,
        "seconds_per_step": time.total if timed else None,
        "reason": "",
    }


def _fused(case: Case) -> dict[str, Any]:
    row = _row(case, 0)
    block = max(case.model.experts_per_layer) * case.setting.weight_bytes / 2**30
    return {
        **row,
        "way": "fused",
        "setting": "",
        "recommended": True,
        "planned": True,
        "reason": f"transformers 5 holds a layer's experts in two tensors, and ZeRO-3 gathers tensors whole: "
        f"{block:.1f} GiB. transformers 4.52 holds each expert by itself, which lockstep needs.",
    }


def _recommended(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The fastest that fits, the leaf if nothing is clearly faster; if nothing fits, what needs least."""
    fitting = [row for row in rows if row["memory_verdict"] == FITS]
    if not fitting:
        return min(rows, key=lambda row: row["gpu_bytes"])
    seconds = {row["at_once"]: row["seconds_per_step"] or row["received_bytes_per_step"] for row in fitting}
    best = min(fitting, key=lambda row: (seconds[row["at_once"]], row["gpu_bytes"]))
    if 0 in seconds and seconds[0] < GAIN * seconds[best["at_once"]]:
        return next(row for row in fitting if not row["at_once"])
    close = [
        row for row in fitting if row["at_once"] and seconds[row["at_once"]] < GAIN * seconds[best["at_once"]]
    ]
    return (
        min(close, key=lambda row: (abs(row["at_once"] - USUAL_AT_ONCE), row["gpu_bytes"])) if close else best
    )


def findings(run: Run, case: Case) -> list[Finding]:
    """A warning if `train.experts: lockstep` has no effect."""
    if run.train.experts != LOCKSTEP or case.at_once:
        return []
    if not case.model.experts:
        saw = f"train.experts: lockstep, and {case.model.family} has no routed experts."
        fix = "leave train.experts out"
    elif not case.sharded:
        saw = "train.experts: lockstep, and the weights are not split over the ranks (ZeRO-3)."
        fix = "deepspeed: auto"
    else:
        saw = "train.experts: lockstep, and transformers 5 holds a layer's experts in two tensors."
        fix = '"transformers==4.52.4" in container.pip, or leave train.experts out'
    return [
        Finding(
            id="experts-not-in-lockstep",
            verdict=WARN,
            where=run.where("train.experts"),
            saw=saw,
            expected="ZeRO-3 and experts that are separate modules",
            why="it has no effect: a layer's experts are gathered together, as the printed memory says.",
            fix=fix,
        )
    ]
