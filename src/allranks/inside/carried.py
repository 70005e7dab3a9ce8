"""Bytes that this node has received for the run, by the counters of the kernel and of the InfiniBand ports.

What else comes in over the same interface is counted too: on a node of its own that is next to nothing.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Mapping, Optional

DEVICES = "/proc/net/dev"
INFINIBAND = "/sys/class/infiniband"
WORD = 4
"""InfiniBand counts words of four octets (IBTA volume 1, PortCounters; so does Linux' sysfs)."""


def received(
    environment: Mapping[str, str], devices: str = DEVICES, infiniband: str = INFINIBAND
) -> Optional[int]:
    """Bytes since the machine's start over the interfaces that NCCL and gloo were told, without any told over all but
    the loopback, and over every InfiniBand port. None where the kernel's counters cannot be read."""
    wanted = interfaces(environment)
    total = 0
    try:
        with open(devices, encoding="ascii") as file:
            rows = file.read().splitlines()[2:]
    except (OSError, UnicodeDecodeError):
        return None
    for row in rows:
        name, _, counters = row.partition(":")
        first = counters.split(None, 1)[:1]
        if (name.strip() in wanted if wanted else name.strip() != "lo") and first and first[0].isdigit():
            total += int(first[0])
    if environment.get("NCCL_IB_DISABLE") == "1":
        return total
    return total + WORD * sum(_number(path) for path in counters_of(infiniband))


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
    """The exact names; NCCL writes one as `=eth0`, and its prefixes are no names."""
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
