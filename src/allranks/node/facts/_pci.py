"""The PCI bus, as `/sys/bus/pci/devices` shows it. Of the NVIDIA and network devices only."""

from __future__ import annotations

import os
import struct
from typing import Any, Dict, List, Optional

from allranks.node.facts._commands import line_or_none

ROOT = "/sys/bus/pci/devices"
NVIDIA = "0x10de"


def devices(root: str = ROOT) -> List[Dict[str, Any]]:
    """`address`, `vendor`, `device`, `kind` (gpu, nvswitch, network), `numa`, `driver`, link width and speed."""
    try:
        addresses = sorted(os.listdir(root))
    except OSError:
        return []
    found = (device(os.path.join(root, address), address) for address in addresses)
    return [one for one in found if one is not None]


def gpus(root: str = ROOT) -> List[Dict[str, Any]]:
    return [one for one in devices(root) if one["kind"] == "gpu"]


def device(folder: str, address: str) -> Optional[Dict[str, Any]]:
    vendor, device_id, kind_code = (attribute(folder, name) for name in ("vendor", "device", "class"))
    kind = kind_of(vendor, kind_code)
    if kind is None:
        return None
    numa = attribute(folder, "numa_node")
    driver = os.path.join(folder, "driver")
    return {
        "address": address,
        "vendor": vendor,
        "device": device_id,
        "kind": kind,
        "numa": int(numa) if numa is not None and numa.lstrip("-").isdigit() else None,
        "driver": os.path.basename(os.path.realpath(driver)) if os.path.exists(driver) else None,
        "width": attribute(folder, "current_link_width"),
        "most_width": attribute(folder, "max_link_width"),
        "speed": attribute(folder, "current_link_speed"),
        "most_speed": attribute(folder, "max_link_speed"),
        # Bridges between here and the root, nearest first: two devices that share one are close.
        "above": above(folder),
    }


def kind_of(vendor: Optional[str], kind_code: Optional[str]) -> Optional[str]:
    """By PCI class: 0x03 display, 0x0680 other bridge (NVSwitch of A100 and H100 boards), 0x02 network."""
    code = kind_code or ""
    if vendor == NVIDIA and code.startswith(("0x0300", "0x0302")):
        return "gpu"
    if vendor == NVIDIA and code.startswith("0x0680"):
        return "nvswitch"
    return "network" if code.startswith("0x02") else None


def attribute(folder: str, name: str) -> Optional[str]:
    return line_or_none(os.path.join(folder, name))


def above(folder: str) -> List[str]:
    parts = os.path.realpath(folder).split("/")
    return [part for part in reversed(parts[:-1]) if part.count(":") == 2]


def acs_redirects(root: str = ROOT) -> Optional[List[str]]:
    """Bridges whose Access Control Services redirect traffic between devices up to the root; None unread.

    The extended configuration space (beyond 256 bytes) is root's alone.
    """
    found, seen = [], False
    try:
        addresses = sorted(os.listdir(root))
    except OSError:
        return None
    for address in addresses:
        if not (attribute(os.path.join(root, address), "class") or "").startswith("0x0604"):
            continue
        try:
            with open(os.path.join(root, address, "config"), "rb") as file:
                space = file.read(4096)
        except OSError:
            continue
        seen = seen or len(space) > 256
        control = acs_control(space)
        # Bits 2 and 3: P2P request redirect, P2P completion redirect (PCIe base specification, 7.7.8.3).
        if control is not None and control & 0x0C:
            found.append(address)
    return found if seen else None


def acs_control(space: bytes) -> Optional[int]:
    """The ACS control register in a device's configuration space; None if it has no such capability (0x000D)."""
    offset = 0x100
    for _ in range(48):
        if offset < 0x100 or offset + 8 > len(space):
            return None
        header = struct.unpack_from("<I", space, offset)[0]
        if header & 0xFFFF == 0x000D:
            return struct.unpack_from("<H", space, offset + 6)[0]
        offset = header >> 20
    return None
