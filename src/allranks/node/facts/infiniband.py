"""InfiniBand and RoCE devices, as `/sys/class/infiniband` shows them.

The files are described in the kernel's Documentation/ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional

from allranks.node.facts._commands import line_or_none
from allranks.node.facts._reading import Reading

ROOT = "/sys/class/infiniband"
COUNTERS = (
    *("symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors"),
    "local_link_integrity_errors",
)
MOST_GIDS = 64


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.fact("devices", lambda: devices(ROOT))
    reading.fact("verbs", verbs)


def verbs() -> List[str]:
    """`/dev/infiniband/*` that this process may open: a container needs them besides the network."""
    folder = "/dev/infiniband"
    if not os.path.isdir(folder):
        return []
    return sorted(n for n in os.listdir(folder) if os.access(os.path.join(folder, n), os.R_OK | os.W_OK))


def devices(root: str) -> Dict[str, Dict[str, Any]]:
    if not os.path.isdir(root):
        return {}
    return {name: device(os.path.join(root, name)) for name in sorted(os.listdir(root))}


def device(folder: str) -> Dict[str, Any]:
    numa = line_or_none(os.path.join(folder, "device", "numa_node"))
    ports_folder = os.path.join(folder, "ports")
    numbers = sorted((n for n in listed(ports_folder) if n.isdigit()), key=int)
    return {
        "pci": os.path.basename(os.path.realpath(os.path.join(folder, "device"))),
        "numa": int(numa) if numa and numa.lstrip("-").isdigit() else None,
        "type": line_or_none(os.path.join(folder, "hca_type")),
        "firmware": line_or_none(os.path.join(folder, "fw_ver")),
        "interfaces": listed(os.path.join(folder, "device", "net")),
        "ports": {number: port(os.path.join(ports_folder, number)) for number in numbers},
    }


def port(folder: str) -> Dict[str, Any]:
    rate, how = parse_rate(line_or_none(os.path.join(folder, "rate")))
    counters = {name: line_or_none(os.path.join(folder, "counters", name)) for name in COUNTERS}
    return {
        "state": after_colon(line_or_none(os.path.join(folder, "state"))),
        "physical": after_colon(line_or_none(os.path.join(folder, "phys_state"))),
        "layer": line_or_none(os.path.join(folder, "link_layer")),
        "rate_gbits": rate,
        "rate": how,
        "lid": line_or_none(os.path.join(folder, "lid")),
        "gids": gids(folder),
        "counters": {k: int(v) for k, v in counters.items() if v is not None and v.isdigit()},
    }


def gids(folder: str) -> List[Dict[str, Any]]:
    """The GIDs that are set: `index`, `gid`, `type` (IB/RoCE v1, RoCE v2), `interface`."""
    found = []
    names = sorted((n for n in listed(os.path.join(folder, "gids")) if n.isdigit()), key=int)
    for name in names[:256]:
        gid = line_or_none(os.path.join(folder, "gids", name))
        if not gid or not re.search("[1-9a-f]", gid.replace("fe80", "", 1)):
            continue
        kind = line_or_none(os.path.join(folder, "gid_attrs", "types", name))
        interface = line_or_none(os.path.join(folder, "gid_attrs", "ndevs", name))
        found.append({"index": int(name), "gid": gid, "type": kind, "interface": interface})
    return found[:MOST_GIDS]


def parse_rate(text: Optional[str]) -> "tuple[Optional[float], Optional[str]]":
    """`200 Gb/sec (4X HDR)` → 200.0 and `4X HDR`."""
    match = re.match(r"\s*(\d+(?:\.\d+)?)\s*Gb/sec(?:\s*\(([^)]*)\))?", text or "")
    return (float(match.group(1)), match.group(2)) if match else (None, None)


def after_colon(text: Optional[str]) -> Optional[str]:
    """`4: ACTIVE` → `ACTIVE`."""
    return text.partition(":")[2].strip() or None if text else None


def listed(folder: str) -> List[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
