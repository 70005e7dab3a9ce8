"""A GPU's clock is held down by heat, power or its board.

## How it is found
The active clock event reasons of every GPU of the run: hardware slowdown, thermal slowdown (hardware or
software), power brake; and temperatures at the slowdown threshold.

## Why it matters
A power brake or thermal slowdown halves the clock or worse. All ranks wait for the slowest: one hot GPU
slows the whole run, without an error.

## What to do
Look at fans, airflow and power supplies of that node; an external power brake comes from its supply.

## Source
NVML "Clocks event reasons" (`nvmlClocksEventReason*`).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus
from allranks.checks.phrases import listed
from allranks.core.untrusted import listing

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = on_gpus

HARD = {
    "hw_slowdown": "hardware slowdown",
    "hw_thermal_slowdown": "hardware thermal slowdown",
    "hw_power_brake_slowdown": "power brake",
    "sw_thermal_slowdown": "thermal slowdown by the driver",
}
"""sw_power_cap under load is normal; application clocks and sync boost are settings."""


def check(context: Context) -> Findings:
    for gpu in context.used_gpus:
        reasons = [HARD[name] for name in listing(gpu.get("clocks.slowed")) if name in HARD]
        heat, most = gpu.number("temperature"), gpu.number("slowdown_temperature")
        if heat and most and heat >= most and not reasons:
            reasons = [f"{heat:.0f} °C, where slowdown begins at {most:.0f} °C"]
        if reasons:
            clock, top = gpu.number("clocks.sm_mhz"), gpu.number("clocks.most_sm_mhz")
            speed = f" (now {clock:.0f} of {top:.0f} MHz)" if clock and top else ""
            yield context.warn(
                gpu,
                saw=f"{gpu} reports {listed(reasons)}{speed}",
                expected="no slowdown by heat or by the power supply",
                why="every step of every rank waits for it.",
                fix=f"look at cooling and power of {gpu.node}, or take it out of nodes",
            )
