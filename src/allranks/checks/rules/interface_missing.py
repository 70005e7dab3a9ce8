"""The network interface that the ranks are set to use is not there, or is down.

## How it is found
`network.interface`, a node's own `interface`, NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME, against the
interfaces of each node: present, up, with an address.

## Why it matters
NCCL ends with "no socket interface found"; gloo fails at once on that node and at the process-group timeout
on all others (30 minutes by default).

## What to do
Name the interface that each node has: `interface:` under the node if names differ, or
`network: {interface: auto}`, which takes the one that leads to the head.

## Source
NCCL user guide, NCCL_SOCKET_IFNAME (prefixes, `=` exact, `^` without); torch 2.13 gloo takes one exact name.

Topic: network
"""

from __future__ import annotations

from collections.abc import Iterator

from allranks.checks import fabric
from allranks.checks.context import Context, Findings, View
from allranks.checks.phrases import listed
from allranks.core.untrusted import mapping

NEEDS = ("network.interfaces",)


def check(context: Context) -> Findings:
    for view in context.answered:
        if not view.has("network.interfaces"):
            continue
        told = dict.fromkeys((name, key) for name, key in named(context, view))
        for spec, key in told:
            trouble = trouble_of(view, spec, exact=key != "NCCL_SOCKET_IFNAME")
            if trouble:
                yield context.block(
                    view,
                    key="network.interface",
                    saw=f"{key} is {spec}: {trouble} on {view.name}, which has {listed(fabric.interfaces(view))}",
                    expected="an interface that is up and has an address",
                    why="its ranks fail at the first connection; the others wait for the process-group timeout.",
                    fix="network: {interface: auto}, or interface: under that node",
                )


def named(context: Context, view: View) -> Iterator[tuple[str, str]]:
    """Each name that this node's ranks are given, and the key or variable that gives it."""
    environment = context.environment(view)
    if view.node.interface:
        yield view.node.interface, "interface"
    elif context.run.network.interface != "auto":
        yield context.run.network.interface, "network.interface"
    for variable in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"):
        value = environment.get(variable)
        if value and (variable.startswith("GLOO") or context.uses_gpu):
            yield value, variable


def trouble_of(view: View, spec: str, exact: bool) -> str | None:
    if exact and (spec.startswith("^") or "," in spec):
        return "gloo takes one exact name, which this is not" if spec.startswith("^") else None
    names = [spec.lstrip("=")] if exact else fabric.matching_interfaces(view, spec)
    found = [mapping(fabric.interfaces(view).get(name)) for name in names if name in fabric.interfaces(view)]
    if not found:
        return "there is none of that name"
    if not any(one.get("up") for one in found):
        return "it is down"
    if not any(one.get("addresses") for one in found if one.get("up")):
        return "it has no address"
    return None
