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

WAYS = (("leaf", LOCKSTEP), ("fused", "slices"))
"""Whole and a few at a time: of separate experts, of fused ones."""

GAIN = 1.02
"""How much faster lockstep must be to be recommended if both fit."""


def ways(case: Case) -> list[dict[str, Any]]:
    """One row for each way: the experts that are gathered together, the memory per GPU, the step's time and traffic.
    One row is `recommended`. Empty for a model without routed experts, and if the weights are not split."""
    if not case.sharded or not case.model.experts:
        return []
    if case.whole_experts:
        return [_whole(case)]
    numbers = sorted({0, case.at_once, *(n for n in TRIED if n < case.model.experts)})
    cases = {n: case if n == case.at_once else in_lockstep(case, n) for n in numbers}
    rows = [_row(one, n) for n, one in cases.items()]
    chosen = _recommended(rows, {n for n, one in cases.items() if _fits(one)})
    for row in rows:
        row["recommended"] = row is chosen
        row["planned"] = row["at_once"] == case.at_once
    return rows


def _row(case: Case, at_once: int) -> dict[str, Any]:
    memory, traffic = memory_of(case), traffic_of(case)
    time = step_time(case, traffic, case.hardware.network)
    timed = time.compute is not None and case.setting.uses_gpu
    return {
        "way": WAYS[case.model.fused_experts][bool(at_once)],
        "at_once": at_once,
        "setting": f"experts: lockstep\nexperts_at_once: {at_once}" if at_once else "experts: leaf",
        "working_set_bytes": case.gathered.peak,
        "gpu_bytes": memory.total,
        "memory_verdict": memory.verdict,
        "received_bytes_per_step": traffic.received,
        "seconds_per_step": time.total if timed else None,
        "reason": "",
    }


def _whole(case: Case) -> dict[str, Any]:
    """The only way of this case."""
    block = max(case.model.experts_per_layer) * case.setting.weight_bytes / 2**30
    reason = f"a layer's experts are whole at once, {block:.1f} GiB: {case.whole_experts}."
    return {**_row(case, 0), "setting": "", "recommended": True, "planned": True, "reason": reason}


def _fits(case: Case) -> bool:
    """Host memory, which is the same for all ways, is left out where it is unknown."""
    memory = memory_of(case)
    return memory.verdict == FITS or (memory.verdict is None and memory.gpu_fits)


def _recommended(rows: list[dict[str, Any]], fits: set[int]) -> dict[str, Any]:
    """The fastest that fits, whole if nothing is clearly faster; if nothing fits, what needs least."""
    fitting = [row for row in rows if row["at_once"] in fits]
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
        fix = "leave train.experts out"
    elif not case.sharded:
        fix = "deepspeed: auto"
    else:
        fix = "leave train.experts out, or transformers 4.52.4, which holds each expert by itself"
    return [
        Finding(
            id="experts-not-in-lockstep",
            verdict=WARN,
            where=run.where("train.experts"),
            saw=f"train.experts: lockstep, and {case.whole_experts}.",
            expected="ZeRO-3 and routed experts; fused ones (transformers 5) frozen, and gathered as they are",
            why="it has no effect: a layer's experts are gathered together, as the printed memory says.",
            fix=fix,
        )
    ]
