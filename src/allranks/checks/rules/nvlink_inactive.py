"""NVLinks are down, or fewer on one GPU than on the others.

## How it is found
The links that `nvidia-smi nvlink -s` lists for each GPU, and the relation between GPUs in
`nvidia-smi topo -m`.

## Why it matters
NCCL routes around a dead link, over PCIe where none is left: one GPU then slows every collective of its
node, and with it all ranks.

## What to do
`nvidia-smi nvlink -e` shows errors of each link; restart the Fabric Manager, reboot, and have the board
looked at where a link stays down.

## Source
nvidia-smi manual: `nvlink -s`, `topo -m` (NV# is a connection of # bonded links).

Topic: gpus
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import gpus
from allranks.checks.context import Context, View
from allranks.checks.phrases import listed
from allranks.core import Finding

NEEDS = ("topology.nvlinks", "gpus.list")
UNKNOWN_BLOCKS = False
applies = gpus.applies


def check(context: Context) -> Iterator[Finding]:
    usual = most_links(context)
    for view, index, gpu in gpus.used(context):
        links = links_of(view, index)
        if links is None:
            continue
        active = sum(link is not None for link in links)
        if active < usual.get(gpu.get("name"), 0):
            yield context.warn(
                view,
                gpu=index,
                saw=f"{gpus.label(index, gpu)} of {view.name} has {active} active NVLinks",
                expected=f"{usual[gpu.get('name')]}, as the others of its model",
                why="collectives of the whole node go at the pace of this GPU.",
                fix=f"nvidia-smi nvlink -e -i {index} on {view.name}; reboot, then have the board looked at",
                evidence=(f"links: {listed(links, 20)}",),
            )


def links_of(view: View, index: int) -> list | None:
    links = view.map("topology.nvlinks").get(str(index))
    return list(links) if isinstance(links, (list, tuple)) else None


def most_links(context: Context) -> dict:
    """The most active links of any GPU of each model, over all nodes."""
    most: dict = {}
    for view, index, gpu in gpus.used(context):
        active = sum(link is not None for link in links_of(view, index) or [])
        most[gpu.get("name")] = max(active, most.get(gpu.get("name"), 0))
    return most
