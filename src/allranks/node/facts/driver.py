"""The NVIDIA driver's parts, which must be of one version: kernel module, libraries, Fabric Manager."""

from __future__ import annotations

import os
import re
from typing import Any, Dict, List, Mapping, Optional

from allranks.node.facts import _commands, _pci
from allranks.node.facts._commands import text
from allranks.node.facts._reading import Reading, Unreadable

_VERSION = r"(\d{3,4}\.\d{1,3}(?:\.\d{1,3})?)"
MODULES = ("nvidia", "nvidia_uvm", "nvidia_peermem", "nv_peer_mem", "gdrdrv", "nvidia_fs", "nouveau")
FOR_GUESTS = ("vfio-pci", "pci-stub", "xen-pciback")
"""Drivers that keep a device for a virtual machine."""
MOST_LOG_BYTES = 4 << 20


def read(request: Mapping[str, Any], reading: Reading) -> None:
    devices = reading.fact("devices", _pci.devices) or []
    given_away = [one for one in devices if one["kind"] == "gpu" and one["driver"] in FOR_GUESTS]
    reading.put("gpus_on_bus", sum(one["kind"] == "gpu" for one in devices) - len(given_away))
    reading.fact("scheduler_job", scheduler_job)
    reading.put("nvswitches", sum(one["kind"] == "nvswitch" for one in devices))
    modules = reading.fact("modules", loaded)
    reading.fact("module", module_version)
    reading.fact("device_files", device_files)
    # Five programs need not be started to say nothing of a driver that is not there.
    there = bool(
        modules
        or any(one["kind"] in ("gpu", "nvswitch") for one in devices)
        or _commands.which_anywhere("nvidia-smi")
    )
    for fact, read_it, nothing in (
        ("module_on_disk", module_on_disk, None),
        ("libraries", libraries, {"libcuda": [], "libnvidia-ml": []}),
        ("fabric_manager", fabric_manager, {"version": None, "state": None}),
        ("container_toolkit", container_toolkit, None),
        ("xids", xids, []),
        ("acs_redirects", _pci.acs_redirects, []),
    ):
        if there:
            reading.fact(fact, read_it)
        else:
            reading.put(fact, nothing)
    reading.fact(
        "iommu", lambda: bool(os.listdir("/sys/class/iommu")) if os.path.isdir("/sys/class/iommu") else False
    )
    reading.fact("kernel_arguments", kernel_arguments)


def scheduler_job() -> Optional[str]:
    """The SLURM job that this process is in, by its control group. SLURM shows a job the GPUs that it gave it, and no
    others (ConstrainDevices in cgroup.conf)."""
    return parse_job(text("/proc/self/cgroup"))


def parse_job(cgroups: str) -> Optional[str]:
    found = re.search(r"slurm.*/job_(\d+)(?:/|$)", cgroups, re.MULTILINE)
    return found.group(1) if found else None


def loaded() -> List[str]:
    return [name for name in MODULES if os.path.isdir(f"/sys/module/{name}")]


def module_version() -> Optional[Dict[str, Any]]:
    """The loaded module's `version` and whether it is the open one; None if none is loaded."""
    path = "/proc/driver/nvidia/version"
    return parse_module(text(path)) if os.path.exists(path) else None


def module_on_disk() -> Optional[str]:
    """The version that the next load would take; None if there is none (containers see no module files)."""
    try:
        done = _commands.run(["modinfo", "-F", "version", "nvidia"], 5.0)
    except Unreadable:
        return None
    return version_in(done.out) if done.code == 0 else None


def libraries() -> Dict[str, List[str]]:
    """Versions by library, of every copy that the loader knows."""
    return parse_ldconfig(_commands.output(["ldconfig", "-p"], 5.0), os.path.realpath)


def device_files() -> List[str]:
    """`/dev/nvidia*` that this process may open."""
    names = sorted(n for n in os.listdir("/dev") if n.startswith("nvidia"))
    found = [n for n in names if n == "nvidia-caps" or os.access(f"/dev/{n}", os.R_OK | os.W_OK)]
    return found[:80]


def fabric_manager() -> Dict[str, Any]:
    """`version` None: not installed here (a container sees the host's only by its effect)."""
    found: Dict[str, Any] = {"version": None, "state": None}
    try:
        done = _commands.run(["nv-fabricmanager", "--version"], 5.0)
        found["version"] = version_in(done.out + done.err)
    except Unreadable as error:
        if "is not installed" not in str(error):
            raise
    try:
        done = _commands.run(["systemctl", "is-active", "nvidia-fabricmanager"], 5.0)
        state = done.out.strip().splitlines()[:1]
        found["state"] = state[0] if state and re.fullmatch("[a-z-]+", state[0]) else None
    except Unreadable:
        pass  # no systemd here
    return found


def container_toolkit() -> Optional[str]:
    for program in ("nvidia-ctk", "nvidia-container-cli"):
        try:
            match = re.search(r"version:? (\d+\.\d+\.\d+)", _commands.output([program, "--version"], 5.0))
        except Unreadable:
            continue
        if match:
            return match.group(1)
    return None


def xids() -> List[Dict[str, Any]]:
    """The driver's error reports in the kernel's log since boot, by GPU and number."""
    done = _commands.run(["dmesg", "--color=never"], 5.0)
    if done.code != 0:
        raise Unreadable(f"dmesg: {done.first_line}")
    return parse_xids(done.out[-MOST_LOG_BYTES:])


def kernel_arguments() -> Dict[str, str]:
    """Those that decide on direct traffic between devices."""
    words = text("/proc/cmdline").split()
    pairs = (word.partition("=") for word in words)
    return {k: v for k, _, v in pairs if k in ("iommu", "intel_iommu", "amd_iommu", "pci", "numa_balancing")}


# ---- parsers ----


def version_in(said: str) -> Optional[str]:
    match = re.search(rf"(?<![\d.]){_VERSION}(?![\d.])", said)
    return match.group(1) if match else None


def parse_module(content: str) -> Dict[str, Any]:
    """/proc/driver/nvidia/version, of the closed and of the open module."""
    first = next((row for row in content.splitlines() if row.startswith("NVRM version:")), "")
    version = version_in(first)
    if version is None:
        raise Unreadable(f"/proc/driver/nvidia/version names no version: {first[:120]}")
    return {"version": version, "open": "Open Kernel Module" in first}


def parse_ldconfig(content: str, real: Any) -> Dict[str, List[str]]:
    """`ldconfig -p` → versions of libcuda and libnvidia-ml, which are in the names of their real files."""
    found: Dict[str, List[str]] = {"libcuda": [], "libnvidia-ml": []}
    for row in content.splitlines():
        name, arrow, path = row.strip().partition(" => ")
        key = name.split(".so")[0]
        if (
            not arrow
            or key not in found
            or ("x86-64" not in name and "AArch64" not in name and "64" not in name)
        ):
            continue
        match = re.search(rf"\.so\.{_VERSION}$", real(path))
        if match and match.group(1) not in found[key]:
            found[key].append(match.group(1))
    return found


def parse_xids(content: str) -> List[Dict[str, Any]]:
    """Lines such as `NVRM: Xid (PCI:0000:53:00): 79, pid=…, GPU has fallen off the bus.`"""
    found: Dict[Any, Dict[str, Any]] = {}
    pattern = r"NVRM: Xid \(PCI:([0-9a-fA-F:.]+)\): (\d+),?(.*)"
    for bus, number, rest in re.findall(pattern, content):
        key = (bus.lower(), int(number))
        entry = found.setdefault(key, {"bus_id": key[0], "xid": key[1], "count": 0, "last": ""})
        entry["count"] += 1
        entry["last"] = without_command(rest)
    return list(found.values())[:64]


def without_command(rest: str) -> str:
    """The message without the command line that some Xids carry: it is another user's."""
    return re.sub(r"\bname=\S+", "name=…", rest).strip()[:160]
