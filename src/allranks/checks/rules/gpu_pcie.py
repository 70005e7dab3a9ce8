"""A GPU's PCIe link is narrower than the others', or sends packets again.

## How it is found
The current width of each GPU's PCIe link, and the replay counter. allranks compares a link with the widest link
that a GPU of the same model has in this run. Many servers and cloud machines have x8 slots by design, so that all
their GPUs have such links. The link's generation is not judged: an idle GPU lowers it by itself.

## Why it matters
At x8 instead of x16 everything between GPU and host, and all InfiniBand traffic, has half the bandwidth:
offload and data loading first. Replays are transfers that had to be sent again: a bad contact.

## What to do
Reseat the board or riser; look at the slot's setting (bifurcation) in the firmware.

## Source
nvidia-smi `pci_gpu_link_info`, `replay_counter`; PCI Express base specification.

Topic: gpus
"""

from __future__ import annotations

from typing import Any

from allranks.checks.context import Context, Findings, on_gpus

NEEDS = ("gpus.list",)
UNKNOWN_BLOCKS = False
applies = on_gpus

MANY_REPLAYS = 1000
"""A handful come with each power-state change; a bad contact counts thousands a day."""


def check(context: Context) -> Findings:
    widest: dict[Any, float] = {}
    for gpu in context.used_gpus:
        widest[gpu.model] = max(widest.get(gpu.model, 0), gpu.number("pcie.width") or 0)
    for gpu in context.used_gpus:
        width, most = gpu.number("pcie.width"), widest[gpu.model]
        if width and width < most:
            yield context.warn(
                gpu,
                saw=f"{gpu} is linked by PCIe x{width:.0f}",
                expected=f"x{most:.0f}, as another GPU of this model in the run",
                why=f"it moves data at {width / most:.0%} of its speed, and all ranks wait for it.",
                fix="reseat the board or its riser, or look at the slot's bifurcation in the firmware",
            )
        replays = gpu.number("pcie.replays") or 0
        if replays >= MANY_REPLAYS:
            yield context.warn(
                gpu,
                saw=f"{gpu} has sent {replays:,.0f} PCIe packets again",
                expected=f"fewer than {MANY_REPLAYS:,}",
                why="the link has a bad contact: it is slow now and may break.",
                fix="reseat the board or its riser",
            )
