"""What would make a run faster, each change with its figures.

Every suggestion is the case planned again with one thing different; nothing is guessed from the first plan.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from allranks.plan.memory import DOES_NOT_FIT, FITS, memory_of
from allranks.plan.planning_input import Case
from allranks.plan.smaller_settings import (
    GAIN,
    Change,
    changed,
    json_paste,
    lockstep,
    node_lines,
    offloaded,
    on_nodes,
    quantized,
    settled,
    with_profile,
)
from allranks.plan.traffic import step_time, traffic_of

GIB = 2**30


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
    case = settled(change.case)
    time = step_time(case, traffic_of(case), case.hardware.network)
    memory = memory_of(case)
    reason = ""
    if memory.verdict == DOES_NOT_FIT or (memory.verdict not in (FITS, None) and memory.verdict != planned):
        short = memory.total - (memory.usable or 0)
        reason = f"needs {memory.total / GIB:,.1f} GiB per GPU, {abs(short) / GIB:,.1f} GiB " + (
            "more than there is" if short > 0 else "less than there is: too close"
        )
    rate = _tokens(case) / time.total if time.total else 0.0
    return Tried(change, memory.verdict, time.total, rate, reason)


def faster(case: Case) -> list[Tried]:
    """What may shorten the run, tried: best first, the infeasible after them with their reason."""
    base = tried(Change("as planned", "", case))
    results = [_compared(tried(change, base.verdict), base) for change in _faster(case)]
    return sorted(results, key=lambda result: (bool(result.reason), -result.tokens_per_second))


def _compared(result: Tried, base: Tried) -> Tried:
    if (
        not result.reason
        and base.tokens_per_second
        and result.tokens_per_second < GAIN * base.tokens_per_second
    ):
        change = result.tokens_per_second / base.tokens_per_second - 1
        return dataclasses.replace(result, reason=f"{change:+.0%} tokens per second: no gain")
    return result


def _faster(case: Case) -> Iterator[Change]:
    batch = case.setting.micro_batch
    for factor in (2, 4):
        paste = f"per_device_train_batch_size: {batch * factor}"
        yield Change(f"micro-batch {batch * factor}", paste, changed(case, micro_batch=batch * factor))
    accumulation = case.setting.accumulation * 4
    paste = f"gradient_accumulation_steps: {accumulation}"
    yield Change(f"accumulation {accumulation}", paste, changed(case, accumulation=accumulation))
    if case.smoke_test or case.tcp_only:
        yield _smoke_test_off(case)
    if len(case.nodes) > 1:
        a_node = max(case.nodes)
        yield Change(
            "one more node", node_lines(case, 1), on_nodes(case, (*case.nodes, a_node)), "one more node"
        )
    if case.sharded and case.setting.uses_gpu:
        yield from _sharing(case)


def _smoke_test_off(case: Case) -> Change:
    """NVLink and shared memory within a node, InfiniBand between nodes where there is any."""
    made = dataclasses.replace(case, smoke_test=False, tcp_only=False)
    cost, better = "", case.hardware.without_tcp
    if case.tcp_only and len(case.nodes) > 1 and better is not None:
        networks = (better, *(one for one in case.hardware.networks if one.name != better.name))
        made = dataclasses.replace(made, hardware=dataclasses.replace(case.hardware, networks=networks))
        cost = f"if the nodes have {better.name}" if better.assumed else ""
    paste = "remove NCCL_P2P_DISABLE, NCCL_SHM_DISABLE and NCCL_IB_DISABLE from env"
    return Change("the smoke test's network settings off", paste, made, cost)


def _sharing(case: Case) -> Iterator[Change]:
    """Ways to gather less, or to keep the weights elsewhere (ZeRO++, arXiv 2306.10209; QLoRA, arXiv 2305.14314)."""
    a_node = max(case.nodes)
    if len(case.nodes) > 1 and a_node > 1 and case.zero.hpz == 1:
        paste = json_paste(case, "zero_hpz_partition_size", str(a_node))
        yield Change("a second copy of the weights in each node (hpZ)", paste, changed(case, hpz=a_node))
    together = lockstep(case)
    if together is not None:
        yield together
    if not case.zero.quantized_weights:
        paste = json_paste(case, "zero_quantized_weights", "true")
        yield Change(
            "weights gathered in 8 bits (qwZ)",
            paste,
            changed(case, quantized_weights=True),
            "rounded weights",
        )
    whole = Change("the base whole on every GPU", "deepspeed: none", with_profile(case, "none"))
    for change in (whole, quantized(case), offloaded(case)):
        if change is not None:
            yield change
