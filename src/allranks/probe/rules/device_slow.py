"""A GPU, or a node's processor, computes or copies more slowly than the others of its kind.

## How it is found
Before the ranks join, each one times a square matrix product in bf16 (fp16 before Ampere, float32 on a processor) and a
copy inside its device's memory: about a second on a GPU. A processor is timed by the time that it gave this one thread,
so a busy one is not slow. Each is compared with the median of the same model of
device, and the product of all of them with the data sheet.

## Why it matters
Under ZeRO-3 all ranks wait for each other in every layer. One GPU that is too hot, is limited in power, or has lost a
part of its memory's speed makes every rank slow, and in the times of the steps all ranks look alike.

## What to do
`nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE` on that node shows what slows it down. Look for another program on
the GPU, the power limit, the clocks and the cooling. If nothing is found, leave the node out and have the board
looked at.

## Source
Sinha et al., "Not All GPUs Are Created Equal", SC22 (arXiv 2208.11035): over 18,800 hours on five clusters equal GPUs
differ by 8 % on average and 22 % at most within a cluster; outliers are up to 1.5 times slower than the median. Peaks:
NVIDIA's data sheets, dense.

Topic: network
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from statistics import median_high

from allranks.core import Finding
from allranks.plan.hardware import gpu_named
from allranks.probe.judge import Context
from allranks.probe.results import RankSaid

SHARE_OF_GPUS = 0.78
"""Sinha et al. found at most 22 % difference within a cluster."""

SHARE_OF_PROCESSORS = 0.2
"""Nodes may have different processors, and other programs slow their memory: only a larger difference counts."""

SHARE_OF_PEAK = 0.33
"""A low limit, and only for a note: no published figure says what every GPU reaches."""


def check(context: Context) -> Iterator[Finding]:
    ranks = [rank for one in context.results.collectives for rank in one.ranks if rank.flops]
    if not context.several_hosts:
        # One machine's ranks share its processor.
        ranks = [rank for rank in ranks if rank.device]
    for device in dict.fromkeys(rank.device for rank in ranks):
        alike = [rank for rank in ranks if rank.device == device]
        share = SHARE_OF_GPUS if device else SHARE_OF_PROCESSORS
        yield from against_others(context, alike, share, "computes", flops_of, tera)
        yield from against_others(context, alike, share, "copies its memory", copied_of, giga)
        yield from against_data_sheet(context, device, alike)


def against_others(
    context: Context,
    ranks: Sequence[RankSaid],
    share: float,
    does: str,
    value: Callable[[RankSaid], float],
    shown: Callable[[float], str],
) -> Iterator[Finding]:
    """One finding for each node with slow devices."""
    usual = median_high(map(value, ranks))
    slow = [rank for rank in ranks if value(rank) < share * usual]
    for node in dict.fromkeys(rank.node for rank in slow):
        mine = [rank for rank in slow if rank.node == node]
        worst = min(map(value, mine))
        names = ", ".join(str(rank.rank) for rank in mine)
        what = mine[0].device or "the processor"
        yield context.warn(
            node,
            saw=f"{what} of rank {names} {does} at {shown(worst)}, the others' usually at {shown(usual)}",
            expected=f"at least {share:g} of the usual",
            why="all ranks wait for the slowest in every layer.",
            fix=f"nvidia-smi -q -d PERFORMANCE,POWER,TEMPERATURE on {node}, or leave it out"
            if mine[0].device
            else f"lscpu on {node}: another model, or a clock that power or heat limits",
        )


def against_data_sheet(context: Context, device: str | None, ranks: Sequence[RankSaid]) -> Iterator[Finding]:
    known = gpu_named(device)
    usual = median_high(map(flops_of, ranks))
    if known is not None and usual < SHARE_OF_PEAK * known.flops:
        yield context.note(
            saw=f"{device} computes at {tera(usual)}, {usual / known.flops:.0%} of its data sheet's "
            f"{tera(known.flops)}",
            expected=f"more than {SHARE_OF_PEAK:.0%}",
            why="all GPUs of this model in the run are slow, so that none stands out.",
            fix="nvidia-smi -q -d PERFORMANCE,POWER,CLOCK: power limits, locked clocks, heat",
        )


def flops_of(rank: RankSaid) -> float:
    return rank.flops or 0.0


def copied_of(rank: RankSaid) -> float:
    return rank.copied or 0.0


def tera(flops: float) -> str:
    return f"{flops / 1e12:.3g} TFLOP/s"


def giga(rate: float) -> str:
    return f"{rate / 1e9:,.0f} GB/s"
