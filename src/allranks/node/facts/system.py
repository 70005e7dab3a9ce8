"""The machine itself: identity, kernel, processors, memory, limits, clock."""

from __future__ import annotations

import ctypes
import os
import platform
import pwd
import re
import resource
import socket
import sys
import time
from typing import Any, Dict, List, Mapping, Optional

from allranks.core import procfs
from allranks.node import memory, paths
from allranks.node.facts._commands import line, text
from allranks.node.facts._reading import Reading, Unreadable

_LIMITS = {
    "nofile": resource.RLIMIT_NOFILE,
    "memlock": resource.RLIMIT_MEMLOCK,
    "nproc": resource.RLIMIT_NPROC,
    "core": resource.RLIMIT_CORE,
    "stack": resource.RLIMIT_STACK,
}

_STA_UNSYNC = 0x0040
"""linux/timex.h: the kernel's clock is not disciplined by a time service."""


def read(request: Mapping[str, Any], reading: Reading) -> None:
    reading.put("allranks_home", paths.home())
    reading.put("hostname", socket.gethostname())
    reading.put("time", time.time())
    reading.fact("kernel", lambda: os.uname().release)
    reading.fact("architecture", lambda: os.uname().machine)
    reading.fact("boot_id", procfs.boot_id)
    reading.fact("machine_id", machine_id)
    reading.fact("os_release", lambda: parse_os_release(text(_os_release())))
    reading.fact("user", user)
    reading.fact("python", lambda: {"version": platform.python_version(), "executable": sys.executable})
    reading.fact("cpus", cpus)
    reading.fact("memory", lambda: parse_meminfo(text(procfs.MEMINFO)))
    reading.fact("cgroup_memory_bytes", cgroup_memory)
    reading.fact("limits", lambda: {name: limit(resource.getrlimit(n)) for name, n in _LIMITS.items()})
    reading.fact("numa_balancing", numa_balancing)
    reading.fact("uptime_seconds", lambda: float(line("/proc/uptime").split()[0]))
    reading.fact("load", lambda: [float(n) for n in line("/proc/loadavg").split()[:3]])
    reading.fact("container", container)
    reading.fact("clock", clock)


def _os_release() -> str:
    return "/etc/os-release" if os.path.exists("/etc/os-release") else "/usr/lib/os-release"


def machine_id() -> str:
    """/etc/machine-id, else the one of D-Bus; cloned images may share it."""
    for path in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        if os.path.exists(path) and line(path):
            return line(path)
    raise Unreadable("/etc/machine-id is missing or empty")


def user() -> Dict[str, Any]:
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = None
    home = os.path.expanduser("~")
    return {"uid": uid, "name": name, "groups": sorted(set(os.getgroups())), "home": home}


def cpus() -> Dict[str, Any]:
    """`online` processors of the machine, `usable` by this process, `numa` nodes."""
    try:
        nodes = [n for n in os.listdir("/sys/devices/system/node") if re.fullmatch(r"node\d+", n)]
    except OSError:
        nodes = []
    counts = {"online": os.cpu_count(), "usable": len(os.sched_getaffinity(0)), "numa": len(nodes) or 1}
    return {**counts, "model": parse_cpu_model(text("/proc/cpuinfo", 4 << 20))}


def numa_balancing() -> Optional[int]:
    """Whether the kernel moves pages between NUMA nodes; None if it cannot."""
    path = "/proc/sys/kernel/numa_balancing"
    return int(line(path)) if os.path.exists(path) else None


def cgroup_memory() -> Optional[int]:
    """The tightest memory limit of our control groups, version 2 or 1, in bytes; None if there is none."""
    files = [
        os.path.join(f, name) for f in memory.folders(text("/proc/self/cgroup")) for name in memory.LIMITS
    ]
    found = [line(file) for file in files if os.path.exists(file)]
    return parse_memory_limits(found)


def container() -> Optional[str]:
    """The kind of container that this process is in; None if there is no sign of one."""
    if os.path.exists("/.dockerenv"):
        return "docker"
    if os.path.exists("/run/.containerenv"):
        return "podman"
    if os.environ.get("APPTAINER_CONTAINER") or os.environ.get("SINGULARITY_CONTAINER"):
        return "apptainer"
    named = os.environ.get("container")  # noqa: SIM112 (systemd's own spelling)
    if named:
        return named
    if os.path.isdir("/var/run/secrets/kubernetes.io") or os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "pod"
    if os.path.exists("/run/systemd/container"):
        return line("/run/systemd/container") or "container"
    # containerd and LXC leave no other sign in a login; the first namespace has this number (PROC_PID_INIT_INO)
    return None if procfs.pid_namespace() in ("", "pid:[4026531836]") else "container"


class _Timex(ctypes.Structure):
    """struct timex of adjtimex(2) on Linux; the padding covers what is not read."""

    _fields_ = [
        ("modes", ctypes.c_uint),
        ("offset", ctypes.c_long),
        ("freq", ctypes.c_long),
        ("maxerror", ctypes.c_long),
        ("esterror", ctypes.c_long),
        ("status", ctypes.c_int),
        ("padding", ctypes.c_char * 256),
    ]


def clock() -> Dict[str, Any]:
    """Whether the kernel says that a time service keeps the clock, and how far off it may be."""
    value = _Timex()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.adjtimex(ctypes.byref(value)) < 0:
        raise Unreadable(f"adjtimex: {os.strerror(ctypes.get_errno())}")
    return {
        "synchronized": not value.status & _STA_UNSYNC,
        "most_error_seconds": round(value.maxerror / 1e6, 6),
    }


# ---- parsers ----


def parse_os_release(content: str) -> Dict[str, str]:
    """`id`, `version` and `name` of os-release(5)."""
    found = dict(re.findall(r'^([A-Z_]+)="?([^"\n]*)"?\s*$', content, re.MULTILINE))
    if "ID" not in found and "NAME" not in found:
        raise Unreadable("os-release names no system")
    return {
        "id": found.get("ID", ""),
        "version": found.get("VERSION_ID", ""),
        "name": found.get("PRETTY_NAME") or found.get("NAME", ""),
    }


def parse_meminfo(content: str) -> Dict[str, int]:
    """Bytes of /proc/meminfo: total, available, swap, huge pages."""
    found = procfs.meminfo(content)
    if "MemTotal" not in found:
        raise Unreadable("/proc/meminfo names no MemTotal")
    kib = 1024
    return {
        "total_bytes": found["MemTotal"] * kib,
        "available_bytes": found.get("MemAvailable", found.get("MemFree", 0)) * kib,
        "swap_bytes": found.get("SwapTotal", 0) * kib,
        "locked_bytes": found.get("Mlocked", 0) * kib,
        "shared_bytes": found.get("Shmem", 0) * kib,
        "hugepages": found.get("HugePages_Total", 0),
        "hugepages_free": found.get("HugePages_Free", 0),
        "hugepage_bytes": found.get("Hugepagesize", 0) * kib,
    }


def parse_cpu_model(content: str) -> str:
    match = re.search(r"^(?:model name|Model|cpu model)\s*:\s*(.+)$", content, re.MULTILINE)
    return match.group(1).strip() if match else ""


def parse_memory_limits(values: List[str]) -> Optional[int]:
    """The smallest limit in bytes; `max` and version 1's near-2^63 number mean none."""
    numbers = [int(value) for value in values if value.isdigit()]
    real = [number for number in numbers if number < memory.NO_LIMIT]
    return min(real) if real else None


def limit(pair: Any) -> List[Optional[int]]:
    """Soft and hard, None for unlimited."""
    return [None if value == resource.RLIM_INFINITY else value for value in pair]
