"""A node has fewer GPUs than its ranks need, or none.

## How it is found
How many GPUs `nvidia-smi` lists on each node, against the number of ranks that the run starts there (all
nodes of one machine together); the NVIDIA devices on the PCI bus, and the driver's device files.

## Why it matters
Each local rank takes the GPU of its number: without it the rank ends with "invalid device ordinal" and the
whole run with it. A script that takes a CPU when it finds no GPU trains on, a hundred times slower.

## What to do
Ask for what is there (`gpus`), or find out why a GPU is gone: `nvidia-smi -L`, `dmesg` for "fallen off the
bus" (Xid 79), and in a container whether all GPUs were given to it. If training on CPUs is meant, ask for it by
name: `gpus: {count: 2, model: cpu}` for a script, `use_cpu: true` for LLaMA-Factory. Nothing else means it,
since a node without a GPU to be seen may have a dead driver.

## Source
torch 2.13 `torch.cuda.set_device`; NVIDIA "Xid errors", Xid 79.

Topic: gpus
"""

from __future__ import annotations

from allranks.checks.context import Context, Findings, View, on_gpus
from allranks.core.text import plural

NEEDS = ("gpus.list",)
applies = on_gpus


def check(context: Context) -> Findings:
    for group in context.hosts:
        view = group[0]
        wanted = (
            max(one.node.gpus for one in group)
            if not context.run.same_host
            else sum(o.node.gpus for o in group)
        )
        there = len(view.list("gpus.list"))
        if there == 0:
            yield from none_there(context, view, wanted)
        elif there < wanted:
            reason = view.text("gpus.reason") or ""
            yield context.block(
                view,
                key="gpus",
                saw=f"{view.name} shows {plural(there, 'GPU')}" + (f" ({reason})" if reason else ""),
                expected=f"{plural(wanted, 'GPU')}, one for each rank",
                why=f"local ranks {there} to {wanted - 1} would end with 'invalid device ordinal'.",
                fix=f"gpus: {there}, or find the missing ones: nvidia-smi -L and dmesg on {view.name}",
            )


def none_there(context: Context, view: View, wanted: int) -> Findings:
    """The finding for a node that shows no GPU. If the list of GPUs could not be read, `unreadable-facts` reports that,
    unless the PCI bus and the device files prove that this node cannot use a GPU."""
    on_bus = view.number("driver.gpus_on_bus")
    given_none = bool(on_bus) and view.has("driver.device_files") and not view.list("driver.device_files")
    if not view.has("gpus.list") and not given_none:
        return
    saw, fix = seen(view, int(on_bus or 0), given_none)
    yield context.block(
        view,
        key="gpus",
        saw=saw,
        expected=f"{plural(wanted, 'GPU')}, one for each rank",
        why="no rank would find a GPU. Training on CPUs must be asked for by name.",
        fix=f"{fix}. If CPUs are meant: {context.run.cpu_form}",
    )


def seen(view: View, on_bus: int, given_none: bool) -> tuple[str, str]:
    """The finding's `saw` and `fix` for a node that shows no GPU."""
    reason = view.text("gpus.reason") or "nvidia-smi lists none"
    if not on_bus:
        said = "" if "PCI bus" in reason else f" ({reason})"
        return (
            f"{view.name} has no GPU: there is no NVIDIA device on its PCI bus{said}",
            f"take nodes that have GPUs in place of {view.name}",
        )
    devices = plural(on_bus, "NVIDIA GPU") + (" is" if on_bus == 1 else " are")
    if given_none and view.text("system.container"):
        return (
            f"{view.name} shows no GPU: {devices} on the PCI bus, and this container has none of the device files",
            "start the container with its GPUs (docker run --gpus all)",
        )
    if given_none or "nvidia" not in view.list("driver.modules"):
        return (
            f"{view.name} shows no GPU: {devices} on the PCI bus, and no driver works for it",
            f"nvidia-smi and dmesg on {view.name} say why: load or install the NVIDIA driver",
        )
    return (
        f"{view.name} shows no GPU ({reason}): {devices} on the PCI bus",
        f"nvidia-smi -L and dmesg on {view.name}",
    )
