"""GPUs are not numbered by their PCI bus.

## How it is found
CUDA_DEVICE_ORDER in the environment of the ranks. allranks sets PCI_BUS_ID; the finding appears if `env` sets
another value.

## Why it matters
CUDA's own order, FASTEST_FIRST, differs from nvidia-smi's on machines with different GPUs. The GPU 3 that you
measure, reserve or replace is then another board than the ranks' GPU 3.

## What to do
Take CUDA_DEVICE_ORDER out of `env`, or set it to PCI_BUS_ID.

## Source
CUDA programming guide, "Environment variables".

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, on_gpus

UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.answered:
        order = context.environment(view).get("CUDA_DEVICE_ORDER")
        if order != "PCI_BUS_ID":
            yield context.warn(
                view,
                key="env.CUDA_DEVICE_ORDER",
                saw=f"CUDA_DEVICE_ORDER is {order or 'not set'} on {view.name}",
                expected="PCI_BUS_ID",
                why="the ranks' GPU 3 may be another board than nvidia-smi's.",
                fix="take CUDA_DEVICE_ORDER out of env",
            )
