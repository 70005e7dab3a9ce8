"""Readers of the parts of /proc that both the ranks and the node program use."""

from __future__ import annotations

import os
import re
from typing import Dict, List

BOOT_ID = "/proc/sys/kernel/random/boot_id"
MEMINFO = "/proc/meminfo"
NET_DEV = "/proc/net/dev"


def boot_id() -> str:
    """The kernel's random id of this boot: the same pid and start time in another boot mean another process. Raises
    OSError."""
    with open(BOOT_ID, encoding="ascii") as file:
        return file.read().strip()


def pid_namespace() -> str:
    """The PID namespace of our pids, such as `pid:[4026531836]`; each container of a machine may have another one,
    see namespaces(7). Two programs in different namespaces see different pids for one process. Empty if it cannot be
    read."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def meminfo(content: str) -> Dict[str, int]:
    """The numbers of /proc/meminfo by their names, most of them in KiB."""
    return {name: int(number) for name, number in re.findall(r"^(\w+):\s+(\d+)", content, re.MULTILINE)}


def net_dev(path: str = NET_DEV) -> Dict[str, List[str]]:
    """The counters of each interface in the kernel's order: eight of what was received, then those of what was sent.
    Raises OSError."""
    with open(path, encoding="ascii", errors="replace") as file:
        rows = [line.partition(":") for line in file.readlines()[2:]]
    return {name.strip(): counters.split() for name, colon, counters in rows if colon}
