"""The file of NCCL_TOPO_FILE is missing, or it is not a topology.

## How it is found
The file that NCCL_TOPO_FILE names, on every node: whether it is there, is XML, and has the elements and
attributes that NCCL's reader needs.

## Why it matters
A file that cannot be read ends NCCL's start. One that is read and wrong is worse: NCCL believes its distances. The
example in many guides is not such a file: it has no `version` of the schema, its GPUs lack `dev` under a separate
PCI device, and it lists no network device.

## What to do
Leave NCCL_TOPO_FILE out: NCCL finds the topology by itself. In a virtual machine that hides it, take the
provider's file; `NCCL_TOPO_DUMP_FILE` writes what NCCL has found.

## Source
NCCL 2.32 `src/graph/xml.cc`: `<system version="1">`, `<cpu numaid affinity arch vendor familyid modelid>`,
`<pci busid class>`, `<gpu dev sm rank gdr>`, `<nic><net name dev speed …>`.

Topic: network
"""

from __future__ import annotations

import xml.etree.ElementTree as xml

from allranks.checks.context import Context, Findings
from allranks.core.untrusted import mapping

NEEDS = ("storage.files",)


def applies(context: Context) -> bool:
    return context.uses_gpu and any(context.environment(view).get("NCCL_TOPO_FILE") for view in context.views)


def check(context: Context) -> Findings:
    for view in context.machines:
        path = context.environment(view).get("NCCL_TOPO_FILE")
        state = mapping(view.map("storage.files").get(path or ""))
        if not path or not state:
            continue
        trouble = trouble_of(state)
        if trouble:
            yield context.block(
                view,
                key="env.NCCL_TOPO_FILE",
                saw=f"NCCL_TOPO_FILE={path} on {view.name} {trouble}",
                expected="a topology as NCCL writes one with NCCL_TOPO_DUMP_FILE",
                why="NCCL fails at its start, or takes wrong distances for true.",
                fix="take NCCL_TOPO_FILE out: NCCL finds the topology by itself",
            )


def trouble_of(state) -> str | None:
    if not state.get("exists"):
        return "is not there"
    text = state.get("text")
    if not isinstance(text, str):
        return "is not a readable file"
    return trouble_in(text)


def trouble_in(text: str) -> str | None:
    """Why NCCL could not use this topology; None if nothing is seen."""
    if "<!ENTITY" in text or "<!DOCTYPE" in text:
        return "declares entities, which a topology does not"
    try:
        root = xml.fromstring(text)
    except (xml.ParseError, ValueError) as error:
        return f"is not XML: {error}"
    if root.tag != "system":
        return f"begins with <{root.tag}> in place of <system>"
    if root.get("version") != "1":
        return f"has version {root.get('version')} in place of 1"
    for pci in root.iter("pci"):
        devices = [child for child in pci if child.tag in ("gpu", "nic")]
        if len(devices) > 1:
            return f"puts {len(devices)} devices on one PCI function ({pci.get('busid')})"
        if pci.get("class") is None and devices:
            return f"has a <pci> without class ({pci.get('busid')})"
    if not any(True for _ in root.iter("gpu")):
        return "describes no GPU"
    return None
