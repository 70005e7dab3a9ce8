"""`nvidia-bug-report.log`: what NVIDIA's script collects of a machine, cut into what the product's readers take.

The script writes one section per file or command, between lines of underscores: `*** /proc/modules`,
`/usr/bin/lspci -nnDvvvxxx`, `dmesg:`. It does not list /dev/nvidia*, the libraries that the loader finds or the
version of the module on disk. The kernel's log names the libraries' version if it is another than the module's.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

from allranks.node.facts import driver, gpus
from allranks.node.facts._reading import Unreadable
from benchmarks import _capture_formats as formats

COMMAND = r"(?:/[\w/.-]*/)?(?:lspci|nvidia-smi|systemctl)(?: \S.*)?"
MISMATCH = (
    rf"NVRM: API mismatch: the client has the version {driver._VERSION}, but\s+"
    rf"(?:\[[^\]]*\]\s*)?NVRM: this kernel module has the version {driver._VERSION}"
)


def text_of(content: bytes) -> str:
    return (gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content).decode("utf-8", "replace")


def sections(text: str) -> dict[str, str]:
    """The first section of each title; a title is a path, or a command without its folder."""
    found: dict[str, str] = {}
    for part in re.split(rf"(?m)^_{{20,}}$|(?=^{COMMAND}$)", text):
        title, _, rest = part.strip("\n").partition("\n")
        title = re.sub(r"^/[\w/.-]*/(?=lspci|nvidia-smi|systemctl)", "", title.removeprefix("*** ").strip())
        title = title.replace("/nvidia/./", "/nvidia/")
        found.setdefault(title, re.sub(r"\A\*\*\* ls: .*\n", "", rest))
    return found


def facts(content: bytes, place: Path) -> dict[str, dict[str, Any]]:
    """The facts by family, as the node's readers give them. Raises `Unreadable` if it is no such report."""
    text = text_of(content)
    cut = sections(text)
    kernel = re.search(r"(?m)^uname: Linux \S+ (\S+)", text)
    if kernel is None:
        raise Unreadable("not a report: no uname")
    of_driver: dict[str, Any] = {}
    found: dict[str, dict[str, Any]] = {"driver": of_driver, "system": {"kernel": kernel[1]}}
    modules = cut.get("/proc/modules")
    if modules is not None:
        loaded = {row.split(" ")[0] for row in modules.splitlines()}
        of_driver["modules"] = [name for name in driver.MODULES if name in loaded]
    version = cut.get("/proc/driver/nvidia/version")
    if version is not None:
        of_driver["module"] = driver.parse_module(version)
    elif "/proc/driver/nvidia/version does not exist" in cut:
        of_driver["module"] = None
    if "dmesg:" in cut:
        of_driver |= {**of_log(cut["dmesg:"]), **of_driver}
    manager = cut.get("systemctl status nvidia-fabricmanager.service")
    if manager is not None:
        of_driver["fabric_manager"] = fabric_manager(manager)
    smi = cut.get("nvidia-smi --query", cut.get("nvidia-smi -q"))
    if smi is not None:
        found["gpus"] = gpus_of(smi)
    bus = next((cut[title] for title in cut if title.startswith("lspci -nnD")), cut.get("lspci -nn"))
    if bus is not None:
        formats.pci_tree(bus, place)
    return found


def of_log(text: str) -> dict[str, Any]:
    """The Xids of a kernel log; where it says that a client differs from the module, also both versions."""
    found: dict[str, Any] = {"xids": driver.parse_xids(text)}
    pairs = re.findall(MISMATCH, text)
    if pairs:
        found["libraries"] = {"libcuda": sorted({client for client, _ in pairs}), "libnvidia-ml": []}
        found["module"] = {"version": pairs[-1][1], "open": None}
    return found


def of_torch(text: str) -> dict[str, dict[str, Any]]:
    """torch's `collect_env`, or what others print of the same: torch's CUDA, the driver, whether in a container."""
    said = {key.strip(): value.strip() for key, _, value in (row.partition(":") for row in text.splitlines())}
    return {
        "software": {"torch_cuda": said.get("CUDA used to build PyTorch")},
        "gpus": {"driver": gpus.version(said.get("Nvidia driver version"))},
        "system": {"container": said.get("Container")},
    }


def gpus_of(smi: str) -> dict[str, Any]:
    """As nvidia-smi said it; `failed` holds why it said nothing."""
    try:
        return gpus.parse(formats.smi_xml(smi) if "NVSMI LOG" in smi else smi)
    except Unreadable as error:
        return {"failed": str(error)}


def fabric_manager(status: str) -> dict[str, Any]:
    """systemctl prints nothing here about a service that it does not know: that message goes to stderr."""
    state = re.search(r"Active: (\w+)", status)
    version = re.search(rf"[Ff]abric [Mm]anager version is ?: ?{driver._VERSION}", status)
    return {"version": version and version[1], "state": state[1] if state else "inactive"}
