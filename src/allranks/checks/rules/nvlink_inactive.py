"""NVLinks are down, or fewer on one GPU than on the others.

## How it is found
The links that `nvidia-smi nvlink -s` lists for each GPU, and the relation between GPUs in
`nvidia-smi topo -m`.

## Why it matters
NCCL routes around a dead link, over PCIe if none is left: one GPU then slows every collective of its
node, and with it all ranks.

## What to do
`nvidia-smi nvlink -e` shows errors of each link; restart the Fabric Manager, reboot, and have the board
looked at if a link stays down.

## Source
nvidia-smi manual: `nvlink -s`, `topo -m` (NV# is a connection of # bonded links).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, UsedGpu, on_gpus
from allranks.checks.phrases import listed

NEEDS = ("topology.nvlinks", "gpus.list")
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    links = {gpu: found for gpu in context.used_gpus if (found := links_of(gpu)) is not None}
    active = {gpu: sum(link is not None for link in found) for gpu, found in links.items()}
    most: dict[str | None, int] = {}
    for gpu, count in active.items():
        most[gpu.model] = max(count, most.get(gpu.model, 0))
    for gpu, count in active.items():
        if count < most[gpu.model]:
            yield context.warn(
                gpu,
                saw=f"{gpu} has {count} active NVLinks",
                expected=f"{most[gpu.model]}, as the others of its model",
                why="collectives of the whole node go at the pace of this GPU.",
                fix=f"nvidia-smi nvlink -e -i {gpu.index} on {gpu.node}; reboot, then have the board looked at",
                evidence=(f"links: {listed(links[gpu], 20)}",),
            )


def links_of(gpu: UsedGpu) -> list | None:
    links = gpu.view.map("topology.nvlinks").get(str(gpu.index))
    return list(links) if isinstance(links, (list, tuple)) else None
