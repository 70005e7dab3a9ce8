"""The node's NVIDIA GPUs, as `nvidia-smi -q -x` says (its DTD `nvsmi_device_v12`), in its order: by PCI bus.

Old and new names of an element are read alike: drivers before 535 say `power_readings` and
`clocks_throttle_reasons`, later ones `gpu_power_readings` and `clocks_event_reasons`.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from typing import Any, Dict, List, Mapping, Optional

from allranks.node import paths
from allranks.node.facts import _commands, _pci, _processes
from allranks.node.facts._reading import Reading, Unreadable

SECONDS = 20.0
ASK_SECONDS = 15.0
"""nvidia-smi on 8 GPUs without persistence mode initializes each of them first: up to 10 s have been reported."""

NONE_FOUND = "No devices were found"
MOST_GPUS = 64


def read(request: Mapping[str, Any], reading: Reading) -> None:
    found = reading.source("list", query)
    if found is None:
        return
    for gpu in found["list"]:
        gpu["processes"] = named(gpu["processes"])
    for name, value in found.items():
        reading.put(name, value)


def query() -> Dict[str, Any]:
    """`list`, `driver`, `cuda`, and `reason` where the list is empty. Raises `Unreadable`."""
    try:
        done = _commands.run(["nvidia-smi", "-q", "-x"], ASK_SECONDS)
    except Unreadable as error:
        devices = _pci.gpus()
        if "is not installed" in str(error) and not devices:
            return {"list": [], "driver": None, "cuda": None, "reason": "no NVIDIA device on the PCI bus"}
        raise Unreadable(f"{error}; the PCI bus holds {len(devices)} NVIDIA GPUs") from None
    return parse(done.out, done.err, done.code)


def named(seen: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
    """The facts that may be kept about the processes on a GPU, with the run of those that allranks started."""
    if not seen:
        return []
    owned = _processes.owners(paths.home())
    return [
        {**one, **{k: v for k, v in _processes.described(one["pid"], owned).items() if v}} for one in seen
    ]


# ---- parsers ----


def parse(out: str, err: str = "", code: int = 0) -> Dict[str, Any]:
    """Reads the XML. Raises `Unreadable` with nvidia-smi's message if it printed something else."""
    start = out.find("<nvidia_smi_log")
    if start < 0:
        said = next((row.strip() for row in (out + "\n" + err).splitlines() if row.strip()), "nothing")
        if NONE_FOUND in said:
            return {"list": [], "driver": None, "cuda": None, "reason": said[:300]}
        raise Unreadable(f"nvidia-smi said (code {code}): {said[:300]}")
    if "<!ENTITY" in out:
        raise Unreadable("nvidia-smi printed XML with entities, which it never does")
    try:
        root = xml.fromstring(out[start:])
    except (xml.ParseError, ValueError) as error:
        raise Unreadable(f"nvidia-smi printed XML that breaks off or is damaged: {error}") from None
    found = [parse_gpu(element, index) for index, element in enumerate(root.findall("gpu")[:MOST_GPUS])]
    wanted = integer(text(root, "attached_gpus"))
    if wanted is not None and wanted != len(found) and len(found) < MOST_GPUS:
        raise Unreadable(f"nvidia-smi counts {wanted} GPUs and describes {len(found)}")
    return {
        "list": found,
        "driver": version(text(root, "driver_version")),
        "cuda": version(text(root, "cuda_version")),
        "reason": None if found else "nvidia-smi lists no GPU",
    }


def parse_gpu(gpu: xml.Element, index: int) -> Dict[str, Any]:
    return {
        "index": index,
        "name": text(gpu, "product_name"),
        "architecture": text(gpu, "product_architecture"),
        "uuid": text(gpu, "uuid"),
        "serial": text(gpu, "serial"),
        "bus_id": bus_id(text(gpu, "pci/pci_bus_id") or gpu.get("id")),
        "minor": integer(text(gpu, "minor_number")),
        "vbios": text(gpu, "vbios_version"),
        "memory": {
            "total_bytes": size(text(gpu, "fb_memory_usage/total")),
            "used_bytes": size(text(gpu, "fb_memory_usage/used")),
            "free_bytes": size(text(gpu, "fb_memory_usage/free")),
            "bar1_bytes": size(text(gpu, "bar1_memory_usage/total")),
        },
        "persistence": yes(text(gpu, "persistence_mode")),
        "compute_mode": text(gpu, "compute_mode"),
        "mig": yes(text(gpu, "mig_mode/current_mig")),
        "mig_pending": yes(text(gpu, "mig_mode/pending_mig")),
        "mig_devices": len(gpu.findall("mig_devices/mig_device")),
        "state": text(gpu, "performance_state"),
        "utilization": number(text(gpu, "utilization/gpu_util")),
        "temperature": number(text(gpu, "temperature/gpu_temp")),
        "slowdown_temperature": number(text(gpu, "temperature/gpu_temp_slow_threshold")),
        "recovery": text(gpu, "gpu_recovery_action"),
        "reset_required": yes(text(gpu, "gpu_reset_status/reset_required")),
        "ecc": parse_ecc(gpu),
        "rows": parse_rows(gpu),
        "pcie": parse_pcie(gpu),
        "power": parse_power(gpu),
        "clocks": parse_clocks(gpu),
        "fabric": parse_fabric(gpu),
        "processes": parse_processes(gpu),
    }


def parse_ecc(gpu: xml.Element) -> Dict[str, Any]:
    """Uncorrectable errors since the driver was loaded (`volatile`) and ever (`aggregate`).

    Turing and later count `…_uncorrectable` by memory; Volta, Pascal and earlier one `double_bit/total`.
    """
    found: Dict[str, Any] = {
        "on": yes(text(gpu, "ecc_mode/current_ecc")),
        "pending": yes(text(gpu, "ecc_mode/pending_ecc")),
    }
    for period in ("volatile", "aggregate"):
        uncorrectable = [
            integer(element.text)
            for element in gpu.findall(f"ecc_errors/{period}/*")
            if "uncorrectable" in element.tag
        ]
        uncorrectable.append(integer(text(gpu, f"ecc_errors/{period}/double_bit/total")))
        known = [count for count in uncorrectable if count is not None]
        found[period] = sum(known) if known else None
    found["sram_threshold_exceeded"] = yes(text(gpu, "ecc_errors/aggregate/sram_threshold_exceeded"))
    return found


def parse_rows(gpu: xml.Element) -> Dict[str, Any]:
    """Row remapping (Ampere and later), or page retirement (before)."""
    retired = [
        integer(text(gpu, f"retired_pages/{kind}/retired_count"))
        for kind in ("multiple_single_bit_retirement", "double_bit_retirement")
    ]
    known = [count for count in retired if count is not None]
    pending = [
        yes(text(gpu, path))
        for path in (
            "remapped_rows/remapped_row_pending",
            "retired_pages/pending_retirement",
            "retired_pages/pending_blacklist",
            "ecc_errors/channel_repair_pending",
            "ecc_errors/tpc_repair_pending",
        )
    ]
    said = [answer for answer in pending if answer is not None]
    return {
        "remapped_uncorrectable": integer(text(gpu, "remapped_rows/remapped_row_unc")),
        "failure": yes(text(gpu, "remapped_rows/remapped_row_failure")),
        "pending": any(said) if said else None,
        "retired_pages": sum(known) if known else None,
    }


def parse_pcie(gpu: xml.Element) -> Dict[str, Any]:
    link = "pci/pci_gpu_link_info"
    return {
        "generation": integer(text(gpu, f"{link}/pcie_gen/current_link_gen")),
        "most_generation": integer(text(gpu, f"{link}/pcie_gen/max_link_gen")),
        "width": integer(text(gpu, f"{link}/link_widths/current_link_width")),
        "most_width": integer(text(gpu, f"{link}/link_widths/max_link_width")),
        "replays": integer(text(gpu, "pci/replay_counter")),
    }


def parse_power(gpu: xml.Element) -> Dict[str, Any]:
    names = {
        "limit_watts": ("current_power_limit", "power_limit", "enforced_power_limit"),
        "default_watts": ("default_power_limit",),
        "most_watts": ("max_power_limit",),
        "draw_watts": ("instant_power_draw", "power_draw"),
    }
    sections = ("gpu_power_readings", "power_readings")
    readings = {
        key: [number(text(gpu, f"{section}/{name}")) for section in sections for name in elements]
        for key, elements in names.items()
    }
    return {key: next((one for one in values if one is not None), None) for key, values in readings.items()}


def parse_clocks(gpu: xml.Element) -> Dict[str, Any]:
    """`slowed` holds the reasons that are active now, without idle, of which each node is full."""
    slowed = []
    for section, prefix in (
        ("clocks_event_reasons", "clocks_event_reason_"),
        ("clocks_throttle_reasons", "clocks_throttle_reason_"),
    ):
        for element in gpu.findall(f"{section}/*"):
            if element.tag.startswith(prefix) and (element.text or "").strip() == "Active":
                slowed.append(element.tag[len(prefix) :])
    return {
        "sm_mhz": integer(text(gpu, "clocks/sm_clock")),
        "most_sm_mhz": integer(text(gpu, "max_clocks/sm_clock")),
        "application_sm_mhz": integer(text(gpu, "applications_clocks/graphics_clock")),
        "slowed": sorted(set(slowed) - {"gpu_idle"}),
    }


def parse_fabric(gpu: xml.Element) -> Dict[str, Optional[str]]:
    """NVLink fabric registration: `state` (Not Started, In Progress, Completed) and `status`; Hopper and later."""
    return {
        "state": text(gpu, "fabric/state"),
        "status": text(gpu, "fabric/status"),
        "clique": text(gpu, "fabric/cliqueId"),
        "cluster": text(gpu, "fabric/clusterUuid"),
    }


def parse_processes(gpu: xml.Element) -> List[Dict[str, Any]]:
    """`pid`, `type` (C compute, G graphics), short `name`, `used_bytes`; never a command line."""
    found = []
    for element in gpu.findall("processes/process_info")[:256]:
        pid = integer(text(element, "pid"))
        if pid is not None:
            found.append(
                {
                    "pid": pid,
                    "type": text(element, "type"),
                    "name": short_name(text(element, "process_name")),
                    "used_bytes": size(text(element, "used_memory")),
                }
            )
    return found


def short_name(command: Optional[str]) -> Optional[str]:
    """The program's name alone, at most 15 characters as the kernel keeps it: arguments may hold secrets."""
    if not command:
        return None
    return command.split()[0].rpartition("/")[2][:15] or None


# ---- values ----

_NOTHING = re.compile(
    r"^\s*\[?(N/A|Not Supported|Not Available|Unknown Error|GPU access blocked.*|None)\]?\s*$", re.I
)


def text(element: xml.Element, path: str) -> Optional[str]:
    """The text at `path`; None for N/A, deprecated and missing ones."""
    found = element.findtext(path)
    if found is None or not found.strip() or _NOTHING.match(found) or "deprecated" in found:
        return None
    return found.strip()[:300]


def version(value: Optional[str]) -> Optional[str]:
    """Without the remark that drivers of branch 610 append: `610.57.04 [Deprecated; will be removed in …]`."""
    return value.partition(" [")[0] if value else None


def number(value: Optional[str]) -> Optional[float]:
    """The number that a value begins with, whatever decimal sign the language has; None if there is none."""
    match = re.match(r"\s*(-?\d+(?:[.,]\d+)?)", value or "")
    return float(match.group(1).replace(",", ".")) if match else None


def integer(value: Optional[str]) -> Optional[int]:
    found = number(value)
    return int(found) if found is not None else None


def size(value: Optional[str]) -> Optional[int]:
    """Bytes of `81920 MiB`; None for any other text."""
    match = re.match(r"\s*(\d+(?:[.,]\d+)?)\s*([KMGT]i?)?B?\s*$", value or "")
    if match is None:
        return None
    shift = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}[(match.group(2) or "")[:1]]
    return int(float(match.group(1).replace(",", ".")) * (1 << shift))


def yes(value: Optional[str]) -> Optional[bool]:
    """True for Enabled, Yes, Active; False for Disabled, No; None for anything else."""
    return {"enabled": True, "yes": True, "active": True, "disabled": False, "no": False}.get(
        (value or "").lower()
    )


def bus_id(value: Optional[str]) -> Optional[str]:
    """As /sys writes it: `0000:53:00.0` for `00000000:53:00.0`."""
    match = re.fullmatch(
        r"(?:0000)?([0-9A-Fa-f]{4}):([0-9A-Fa-f]{2}):([0-9A-Fa-f]{2})\.([0-9A-Fa-f])", value or ""
    )
    return "{}:{}:{}.{}".format(*match.groups()).lower() if match else value
