"""What people publish of a machine, in the form in which the product's own readers take it.

The readers take `nvidia-smi -q -x` and files below /sys. People publish `nvidia-smi -q`, ibstat, ibv_devinfo and
lspci, which tell the same. Each function here writes one of them as what the reader would have met on that machine,
and adds nothing: what the text does not tell is not there.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as xml
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

# ---- nvidia-smi -q ----

PLACES = {
    "product_name": "product_name",
    "product_architecture": "product_architecture",
    "serial_number": "serial",
    "gpu_uuid": "uuid",
    "minor_number": "minor_number",
    "vbios_version": "vbios_version",
    "persistence_mode": "persistence_mode",
    "compute_mode": "compute_mode",
    "performance_state": "performance_state",
    "gpu_recovery_action": "gpu_recovery_action",
    "mig_mode/current": "mig_mode/current_mig",
    "mig_mode/pending": "mig_mode/pending_mig",
    "pci/bus_id": "pci/pci_bus_id",
    "pci/replays_since_reset": "pci/replay_counter",
    "pci/gpu_link_info/pcie_generation/max": "pci/pci_gpu_link_info/pcie_gen/max_link_gen",
    "pci/gpu_link_info/pcie_generation/current": "pci/pci_gpu_link_info/pcie_gen/current_link_gen",
    "pci/gpu_link_info/link_width/max": "pci/pci_gpu_link_info/link_widths/max_link_width",
    "pci/gpu_link_info/link_width/current": "pci/pci_gpu_link_info/link_widths/current_link_width",
    "fb_memory_usage/total": "fb_memory_usage/total",
    "fb_memory_usage/used": "fb_memory_usage/used",
    "fb_memory_usage/free": "fb_memory_usage/free",
    "bar1_memory_usage/total": "bar1_memory_usage/total",
    "utilization/gpu": "utilization/gpu_util",
    "ecc_mode/current": "ecc_mode/current_ecc",
    "ecc_mode/pending": "ecc_mode/pending_ecc",
    "ecc_errors/volatile/sram_uncorrectable": "ecc_errors/volatile/sram_uncorrectable",
    "ecc_errors/volatile/dram_uncorrectable": "ecc_errors/volatile/dram_uncorrectable",
    "ecc_errors/volatile/sram_uncorrectable_parity": "ecc_errors/volatile/sram_uncorrectable_parity",
    "ecc_errors/volatile/sram_uncorrectable_sec_ded": "ecc_errors/volatile/sram_uncorrectable_secded",
    "ecc_errors/volatile/double_bit/total": "ecc_errors/volatile/double_bit/total",
    "ecc_errors/aggregate/sram_uncorrectable": "ecc_errors/aggregate/sram_uncorrectable",
    "ecc_errors/aggregate/dram_uncorrectable": "ecc_errors/aggregate/dram_uncorrectable",
    "ecc_errors/aggregate/double_bit/total": "ecc_errors/aggregate/double_bit/total",
    "ecc_errors/aggregate/sram_threshold_exceeded": "ecc_errors/aggregate/sram_threshold_exceeded",
    "ecc_errors/channel_repair_pending": "ecc_errors/channel_repair_pending",
    "ecc_errors/tpc_repair_pending": "ecc_errors/tpc_repair_pending",
    "retired_pages/single_bit_ecc": "retired_pages/multiple_single_bit_retirement/retired_count",
    "retired_pages/double_bit_ecc": "retired_pages/double_bit_retirement/retired_count",
    "retired_pages/pending": "retired_pages/pending_retirement",
    "retired_pages/pending_page_blacklist": "retired_pages/pending_blacklist",
    "remapped_rows/uncorrectable_error": "remapped_rows/remapped_row_unc",
    "remapped_rows/pending": "remapped_rows/remapped_row_pending",
    "remapped_rows/remapping_failure_occurred": "remapped_rows/remapped_row_failure",
    "temperature/gpu_current_temp": "temperature/gpu_temp",
    "temperature/gpu_slowdown_temp": "temperature/gpu_temp_slow_threshold",
    "temperature/gpu_t_limit_temp": "temperature/gpu_temp_tlimit",
    "temperature/gpu_slowdown_t_limit_temp": "temperature/gpu_temp_slow_tlimit_threshold",
    "clocks/sm": "clocks/sm_clock",
    "max_clocks/sm": "max_clocks/sm_clock",
    "applications_clocks/graphics": "applications_clocks/graphics_clock",
    "fabric/state": "fabric/state",
    "fabric/status": "fabric/status",
    "fabric/cliqueid": "fabric/cliqueId",
    "fabric/clusteruuid": "fabric/clusterUuid",
    "gpu_reset_status/reset_required": "gpu_reset_status/reset_required",
}
"""`nvidia-smi -q`'s labels to the elements of `-x`, as far as the reader asks for them."""

POWER = {
    "power_draw": "power_draw",
    "instantaneous_power_draw": "instant_power_draw",
    "power_limit": "power_limit",
    "current_power_limit": "current_power_limit",
    "requested_power_limit": "requested_power_limit",
    "default_power_limit": "default_power_limit",
    "enforced_power_limit": "enforced_power_limit",
    "max_power_limit": "max_power_limit",
}
REASONS = {
    "clocks_throttle_reasons": "clocks_throttle_reasons/clocks_throttle_reason_",
    "clocks_event_reasons": "clocks_event_reasons/clocks_event_reason_",
}
PROCESS = {
    "process_id": "pid",
    "type": "type",
    "name": "process_name",
    "used_gpu_memory": "used_memory",
}
HEADS = {"driver_version": "driver_version", "cuda_version": "cuda_version", "attached_gpus": "attached_gpus"}


def smi_xml(text: str) -> str:
    """`nvidia-smi -q` as `nvidia-smi -q -x` would have printed it."""
    root = xml.Element("nvidia_smi_log")
    gpu: xml.Element | None = None
    above: list[tuple[int, str]] = []
    for line in text.expandtabs().splitlines():
        match = re.match(r"\s*GPU ([0-9A-Fa-f]{4,8}:\S+)\s*$", line)
        if match:
            gpu, above = xml.SubElement(root, "gpu", id=match[1]), []
            continue
        label, colon, value = line.partition(" :")
        indent = len(label) - len(label.lstrip())
        name = re.sub(r"\W+", "_", label.strip().lower()).strip("_")
        if not name:
            continue
        above = [one for one in above if one[0] < indent]
        path = "/".join([one[1] for one in above] + [name])
        above.append((indent, name))
        if gpu is None:
            if name in HEADS and colon:
                put(root, HEADS[name], value)
        else:
            told(gpu, path, value.strip() if colon else None)
    return xml.tostring(root, encoding="unicode")


def told(gpu: xml.Element, path: str, value: str | None) -> None:
    """Puts one line of the text to its place."""
    section, _, name = path.partition("/")
    if path.endswith("mig_device"):
        xml.SubElement(made(gpu, "mig_devices"), "mig_device")
    if value is None:
        return
    if path in PLACES:
        put(gpu, PLACES[path], value)
    elif section in ("power_readings", "gpu_power_readings") and name in POWER:
        put(gpu, f"{section}/{POWER[name]}", value)
    elif section in REASONS and re.fullmatch(r"\w+", name):
        put(gpu, REASONS[section] + {"idle": "gpu_idle"}.get(name, name), value)
    elif section in REASONS and name.startswith("hw_slowdown/"):
        put(gpu, REASONS[section] + name.partition("/")[2], value)
    elif section == "processes":
        leaf = path.rpartition("/")[2]
        processes = made(gpu, "processes")
        if leaf == "process_id":
            xml.SubElement(processes, "process_info")
        if leaf in PROCESS and len(processes):
            put(processes[-1], PROCESS[leaf], value)


def made(element: xml.Element, path: str) -> xml.Element:
    """The element at this path, made if it is not there."""
    for part in path.split("/"):
        found = element.find(part)
        element = xml.SubElement(element, part) if found is None else found
    return element


def put(element: xml.Element, path: str, value: str) -> None:
    made(element, path).text = value.strip()


# ---- InfiniBand ----

STATES = {"down": "1: DOWN", "initializing": "2: INIT", "armed": "3: ARMED", "active": "4: ACTIVE"}
PHYSICAL = {"sleep": 1, "polling": 2, "disabled": 3, "linkup": 5, "linkerrorrecovery": 6}


def infiniband_ports(text: str) -> Iterator[tuple[str, str, dict[str, str]]]:
    """`(device, port, files of /sys)` of ibstat, ibstatus or ibv_devinfo."""
    device, number, kept = "", "", {}
    said: dict[tuple[str, str], dict[str, str]] = {}
    for line in text.splitlines():
        row = line.strip()
        if match := re.match(r"Infiniband device '([\w.-]+)' port (\d+)", row):
            device, number = match[1], match[2]
        elif match := re.match(r"(?:CA '([\w.-]+)'|hca_id:\s*([\w.-]+))", row):
            device, number, kept = match[1] or match[2], "", {}
        elif match := re.match(r"[Pp]ort:?\s+(\d+):?$", row):
            number = match[1]
        else:
            label, _, value = row.partition(":")
            files = of_port(label.strip().lower(), value.strip())
            if device and number:
                said.setdefault((device, number), dict(kept)).update(files)
            elif device:
                kept.update(files)
    for (name, port), files in said.items():
        yield name, port, files


def of_port(label: str, value: str) -> dict[str, str]:
    """A line of ibstat, ibstatus or ibv_devinfo as the file that /sys has for it."""
    if label == "state":
        word = value.rpartition(" ")[2] if re.match(r"\d+:", value) else value
        word = re.sub(r"\s*\(\d\)$", "", word).removeprefix("PORT_").lower()
        return {"state": STATES.get(word) or STATES.get({"init": "initializing"}.get(word, ""), value)}
    if label in ("physical state", "phys state"):
        return {"phys_state": value if ":" in value else f"{PHYSICAL.get(value.lower(), 4)}: {value}"}
    if label == "rate":
        return {"rate": value if "Gb" in value else f"{value} Gb/sec"}
    named = {"ca type": "hca_type", "firmware version": "fw_ver", "fw_ver": "fw_ver"}
    if label in named:
        return {named[label]: value}
    layer = {"link layer": "link_layer", "link_layer": "link_layer", "base lid": "lid"}
    return {layer[label]: value} if label in layer else {}


def infiniband_tree(text: str, folder: Path) -> None:
    """`/sys/class/infiniband` as far as the text tells of it."""
    for device, number, files in infiniband_ports(text):
        for name, value in files.items():
            below = folder / device
            place = below / name if name in ("hca_type", "fw_ver") else below / "ports" / number / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(f"{value}\n")


# ---- lspci ----

CLASSES = {
    "VGA compatible controller": "0x030000",
    "3D controller": "0x030200",
    "PCI bridge": "0x060400",
    "Infiniband controller": "0x020700",
    "Ethernet controller": "0x020000",
}


def pci_tree(text: str, folder: Path) -> None:
    """`/sys/bus/pci/devices` of `lspci -vv`: class, vendor, NUMA node, link, ACS, and what is below which bridge."""
    listed = folder / "bus"
    listed.mkdir(parents=True, exist_ok=True)
    under: dict[tuple[str, int], Path] = {}
    for block in re.split(r"\n(?=\S)", text):
        head = re.match(
            r"((?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) ([^:\[]+)(?: \[(\w{4})\])?: (.*)", block
        )
        if head is None:
            continue
        address = head[1] if head[1].count(":") == 2 else f"0000:{head[1]}"
        domain, bus = address[:4], int(address[5:7], 16)
        parent = under.get((domain, bus), folder / f"pci{domain}:00")
        place = parent / address
        place.mkdir(parents=True)
        (listed / address).symlink_to(place)
        for name, value in of_device(head[2], head[3], head[4], block).items():
            (place / name).write_text(f"{value}\n")
        if match := re.search(r"secondary=([0-9a-f]{2}), subordinate=([0-9a-f]{2})", block):
            for number in range(int(match[1], 16), int(match[2], 16) + 1):
                under[domain, number] = place
        config = acs_space(block)
        if config is not None:
            (place / "config").write_bytes(config)


def of_device(kind: str, code: str | None, name: str, block: str) -> dict[str, str]:
    """The attributes of /sys that the text tells."""
    found = {"class": f"0x{code}00" if code else CLASSES.get(kind, "")}
    if not code and kind == "Bridge" and "NVIDIA" in name:
        found["class"] = "0x068000"
    found["vendor"] = "0x10de" if "NVIDIA" in name else "0x15b3" if "Mellanox" in name else "0xffff"
    if match := re.search(r"NUMA node: (\d+)", block):
        found["numa_node"] = match[1]
    for line, prefix in (("LnkSta", "current"), ("LnkCap", "max")):
        if match := re.search(rf"{line}:.*?Speed ([\d.]+GT/s).*?Width x(\d+)", block):
            found[f"{prefix}_link_speed"] = match[1].replace("GT/s", " GT/s")
            found[f"{prefix}_link_width"] = match[2]
    return {key: value for key, value in found.items() if value}


def acs_space(block: str) -> bytes | None:
    """A configuration space with this device's ACS control; None if the text shows no extended capabilities."""
    if not re.search(r"Capabilities: \[\w{3}", block):
        return None
    space = bytearray(4096)
    if match := re.search(r"ACSCtl:\s*(.*)", block):
        flags = ("SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans")
        control = sum(1 << bit for bit, flag in enumerate(flags) if f"{flag}+" in match[1])
        space[0x100:0x108] = (0x0001000D).to_bytes(4, "little") + b"\0\0" + control.to_bytes(2, "little")
    return bytes(space)


def at(value: Any, path: str) -> Any:
    """The value at `a.b.c` of a fact; None where it is missing."""
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
