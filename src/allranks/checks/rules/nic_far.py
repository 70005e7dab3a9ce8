"""GPUs have no network device near them.

## How it is found
`nvidia-smi topo -m`: for every GPU of the run, its nearest InfiniBand device.

## Why it matters
PIX and PXB (one or a few PCIe switches between them) are what GPUDirect needs; PHB goes through the
processor's host bridge, NODE and SYS through the interconnect between processors, at a fraction of the
speed. Guides that call SYS good are wrong.

## What to do
If the board is built like this, software cannot change it. If a virtual machine hides the topology (all SYS), give NCCL
the provider's NCCL_TOPO_FILE.

## Source
nvidia-smi manual, `topo -m` legend; NCCL user guide, NCCL_NET_GDR_LEVEL (default PXB).

Topic: gpus
"""

from __future__ import annotations

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.checks.phrases import listed
from allranks.core.untrusted import mapping

NEEDS = ("topology.matrix", "infiniband.devices")
UNKNOWN_BLOCKS = False
applies = fabric.wants_infiniband

NEAR = ("PIX", "PXB")
FAR = ("PHB", "NODE", "SYS")
"""The nearest first."""


def check(context: Context) -> Findings:
    far: dict[View, list[str]] = {}
    for gpu in context.used_gpus:
        ways = mapping(gpu.view.map("topology.matrix").get(f"GPU{gpu.index}"))
        nics = gpu.view.map("infiniband.devices")
        relations = {name: way for name, way in ways.items() if name in nics}
        if relations and not any(way in NEAR for way in relations.values()):
            best = min(relations.values(), key=lambda way: FAR.index(way) if way in FAR else len(FAR))
            far.setdefault(gpu.view, []).append(f"GPU {gpu.index} ({best})")
    for view, names in far.items():
        if context.environment(view).get("NCCL_TOPO_FILE"):
            continue
        yield context.note(
            view,
            saw=f"{view.name}: no network device is near {listed(names)}",
            expected="PIX or PXB: at most PCIe switches between a GPU and its network device",
            why="traffic between nodes crosses the processor, at a fraction of the speed.",
            fix="if a virtual machine hides the topology, set NCCL_TOPO_FILE to the provider's file",
        )
