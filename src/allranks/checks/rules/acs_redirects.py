"""PCIe Access Control Services send traffic between devices up to the processor.

## How it is found
The ACS control register (root can read it) of the PCIe bridges through which two GPUs, or a GPU and an InfiniBand
device, could reach each other without the root: those below a switch that both share. Devices on root ports of their
own pass through the root in any case, and bridges above disks or USB do not matter.

## Why it matters
With ACS redirection, transfers between GPUs, and between a GPU and its network device, go up to the root and
back: peer-to-peer falls to a fraction, and NCCL may hang with GPUDirect.

## What to do
Switch ACS off in the firmware, or for each bridge with `setpci -s BRIDGE ECAP_ACS+0x6.w=0000` as root at each boot;
leave it on if the IOMMU gives devices to virtual machines.

## Source
NCCL user guide, "Troubleshooting, PCI Access Control Services"; PCI Express base specification 7.7.8.

Topic: gpus
"""

from __future__ import annotations

import itertools

from allranks.checks.context import Context, Findings, View, on_gpus
from allranks.checks.phrases import listed
from allranks.core.untrusted import listing, mapping

NEEDS = ("driver.acs_redirects", "driver.devices")
UNKNOWN_BLOCKS = False
applies = on_gpus


def check(context: Context) -> Findings:
    for view in context.machines:
        passed = short_ways(paths(view))
        bridges = [one for one in view.list("driver.acs_redirects") if one in passed]
        if bridges:
            yield context.warn(
                view,
                saw=f"{view.name}: {len(bridges)} PCIe bridges redirect traffic between devices: {listed(bridges, 4)}",
                expected="ACS off on machines that are not virtualized",
                why="GPUs reach each other and the network over the processor, at a fraction of the speed.",
                fix=f"as root on {view.name}: setpci -s {bridges[0]} ECAP_ACS+0x6.w=0000, for each; or in the firmware",
            )


def paths(view: View) -> list[list[str]]:
    """The bridges above each GPU and each InfiniBand device, nearest first."""
    fabric = {mapping(device).get("pci") for device in view.map("infiniband.devices").values()}
    return [
        [bridge for bridge in listing(device.get("above")) if isinstance(bridge, str)]
        for device in view.maps("driver.devices")
        if device.get("kind") == "gpu" or device.get("address") in fabric
    ]


def short_ways(above: list[list[str]]) -> set[str]:
    """The bridges between two devices and the nearest bridge that they share."""
    found: set[str] = set()
    for one, other in itertools.permutations(above, 2):
        shared = next((index for index, bridge in enumerate(one) if bridge in other), 0)
        found.update(one[:shared])
    return found
