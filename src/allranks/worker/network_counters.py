"""Bytes that this node has received for the run, by the counters of the kernel and of the InfiniBand ports.

What else comes in over the same interface is counted too: on a node of its own that is next to nothing. The loopback
is never counted: it carries what all programs of the machine tell each other.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Mapping, Optional

NETWORK = "/sys/class/net"
INFINIBAND = "/sys/class/infiniband"
LOOPBACK = "lo"
WORD = 4
"""InfiniBand counts words of four octets (IBTA volume 1, PortCounters; so does Linux' sysfs)."""


def received(
    environment: Mapping[str, str],
    devices: Optional[str] = None,
    infiniband: str = INFINIBAND,
    network: str = NETWORK,
) -> Optional[int]:
    """Bytes since the machine's start over the interfaces that NCCL and gloo were told, without any told over those
    of hardware, and over every InfiniBand port. None if the counters cannot be read, or none of them is the run's."""
    rows = rows_of(devices)
    if rows is None:
        return None
    told = interfaces(environment)
    counted = once([name for name in told or rows if name in rows], network, hardware=not told)
    without_ports = environment.get("NCCL_IB_DISABLE") == "1"
    ports = [] if without_ports else counters_of(infiniband)
    if not counted and not ports:
        return None
    return sum(rows[name] for name in counted) + WORD * sum(_number(path) for path in ports)


def rows_of(devices: Optional[str]) -> Optional[Dict[str, int]]:
    """The received bytes of each interface; None if the kernel's table (`devices`) cannot be read."""
    from allranks.core import procfs  # at a step: every Python of the run would pay for it at its start

    try:
        rows = procfs.net_dev(devices or procfs.NET_DEV)
    except OSError:
        return None
    return {name: int(words[0]) for name, words in rows.items() if words and words[0].isdigit()}


def once(names: List[str], network: str, hardware: bool) -> List[str]:
    """The interfaces in which every byte is counted once, without the loopback.

    A bond, a bridge or a VLAN counts again what the interfaces below it have counted. With `hardware` those of real
    devices are taken if there are any; a container may have virtual ones alone.
    """
    names = [name for name in dict.fromkeys(names) if name != LOOPBACK]
    if hardware:
        real = [name for name in names if os.path.exists(os.path.join(network, name, "device"))]
        return real or [name for name in names if not _beside(network, name, "lower_")]
    return [name for name in names if not any(above in names for above in _beside(network, name, "upper_"))]


def _beside(network: str, name: str, prefix: str) -> List[str]:
    """The interfaces above or below one, by the links that the kernel keeps in sysfs (`upper_bond0`, `lower_eth0`)."""
    folder = os.path.join(network, name)
    return [entry[len(prefix) :] for entry in _names(folder) if entry.startswith(prefix)]


def counters_of(infiniband: str) -> List[str]:
    """The path of each port's counter of received data."""
    found = []
    for device in _names(infiniband):
        ports = os.path.join(infiniband, device, "ports")
        found += [os.path.join(ports, port, "counters", "port_rcv_data") for port in _names(ports)]
    return found


def _names(folder: str) -> List[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def interfaces(environment: Mapping[str, str]) -> List[str]:
    """The exact names; NCCL writes one as `=eth0`, and its prefixes are not names."""
    told = environment.get("GLOO_SOCKET_IFNAME") or ""
    nccl = environment.get("NCCL_SOCKET_IFNAME") or ""
    names = told.split(",") + (nccl[1:].split(",") if nccl.startswith("=") else [])
    return [name.strip() for name in names if name.strip()]


def _number(path: str) -> int:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):
        return 0
