"""Functions that the network checks share: the interface that each node's ranks use, and its InfiniBand ports."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from allranks.checks.context import Context, View
from allranks.core.untrusted import mapping

TCP = ("tcp", "socket", "ethernet")


def several_machines(context: Context) -> bool:
    """Whether the network between nodes matters. With `same_host` it does not, so that a wrong `same_host` is one
    finding and not one per network check. If a scheduler chooses the machines, their addresses are not known yet."""
    return len(context.hosts) > 1 and not context.run.same_host and context.run.nodes_known


def wants_infiniband(context: Context) -> bool:
    """Whether the run computes on GPUs of several machines and does not rule InfiniBand out."""
    off = context.environment(context.head).get("NCCL_IB_DISABLE", "0") not in ("0", "")
    return (
        context.uses_gpu and several_machines(context) and context.run.network.fabric not in TCP and not off
    )


def interface_of_ranks(context: Context, view: View) -> str | None:
    """The interface that the environment or the run file names for this node's ranks, else the one that leads to the
    head."""
    environment = context.environment(view)
    told = environment.get("GLOO_SOCKET_IFNAME") or environment.get("NCCL_SOCKET_IFNAME")
    if told and not told.startswith("^") and "," not in told:
        return told.lstrip("=")
    if view.node.interface:
        return view.node.interface
    if context.run.network.interface != "auto":
        return context.run.network.interface
    return view.text("network.interface_to_head")


def interfaces(view: View) -> Mapping[str, Any]:
    return view.map("network.interfaces")


def matching_interfaces(view: View, spec: str) -> list[str]:
    """The interfaces that NCCL takes for a value of NCCL_SOCKET_IFNAME (its user guide): prefixes, `=` exact,
    `^` all others; loopback and docker only if they are named."""
    listed = spec[1:] if spec[:1] in "^=" else spec
    parts = [part for part in listed.split(",") if part]
    exact = spec.startswith("=") or spec.startswith("^=")

    def matches(name: str) -> bool:
        return any(name == part.lstrip("=") if exact else name.startswith(part) for part in parts)

    return [name for name in interfaces(view) if matches(name) is not spec.startswith("^")]


def ports(view: View) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """`(device, port number, port)` of every InfiniBand or RoCE port."""
    for name, device in view.map("infiniband.devices").items():
        for number, port in mapping(mapping(device).get("ports")).items():
            yield name, number, mapping(port)


def active_ports(view: View) -> list[tuple[str, str, Mapping[str, Any]]]:
    return [one for one in ports(view) if one[2].get("state") == "ACTIVE"]


def chosen_ports(context: Context, view: View) -> list[tuple[str, str, Mapping[str, Any]]]:
    """The ports, active or not, that this node's ranks may use: those of NCCL_IB_HCA, or all."""
    spec = context.environment(view).get("NCCL_IB_HCA")
    return [one for one in ports(view) if not spec or chooses(spec, one[0], one[1])]


def chooses(spec: str, device: str, number: str) -> bool:
    """Whether NCCL takes this port for a value of NCCL_IB_HCA (its user guide): prefixes, `=` exact, `^` without,
    `:port`."""
    exact, without = spec.startswith(("=", "^=")), spec.startswith("^")
    parts = [part.partition(":") for part in spec.lstrip("^=").split(",") if part]
    named = any(
        (device == name if exact else device.startswith(name)) and port in ("", number)
        for name, _, port in parts
    )
    return named is not without


def address_of(text: Any) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """An address without its prefix length; None for anything else."""
    try:
        return ipaddress.ip_address(str(text).partition("/")[0])
    except ValueError:
        return None
