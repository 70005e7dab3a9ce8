"""What ranks and the node program both read in /proc, each in one place."""

from __future__ import annotations

import os
import re
from typing import Dict, List

BOOT_ID = "/proc/sys/kernel/random/boot_id"
MEMINFO = "/proc/meminfo"
NET_DEV = "/proc/net/dev"


def boot_id() -> str:
    """The kernel's random id of this boot: a pid and start time of another boot are another process. Raises OSError."""
    with open(BOOT_ID, encoding="ascii") as file:
        return file.read().strip()


def pid_namespace() -> str:
    """What our pids mean: `pid:[4026531836]`, another one in another container of this machine; namespaces(7). Two
    programs that differ here cannot talk of each other's pids. Empty if it cannot be read."""
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
