"""What names one machine, replaced in a recording of it: serial numbers, UUIDs, host and user names, addresses."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from typing import Any

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
MAC = r"\b[0-9a-fA-F]{2}(?::[0-9a-fA-F]{2}){5,19}\b"
GUID = r"\b[0-9a-fA-F]{4}(?::[0-9a-fA-F]{4}){3}\b"
HEX32 = r"\b[0-9a-f]{32}\b"
ADDRESS = r"(?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?![\w.])"
NAMES = ("hostname", "serial", "machine_id", "boot_id", "uuid", "node_guid", "port_guid", "sys_image_guid")
"""Keys whose value, wherever it stands, is replaced."""

OF_USER = ("name",)
DOCUMENTATION = "192.0.2."
"""RFC 5737: addresses that are nobody's."""


def scrubbed(value: Any, places: Mapping[str, str] | None = None) -> Any:
    """A copy without what names the machine. One thing gets one replacement everywhere, so that equal stays equal.
    `places` maps folders of this machine to those that stand for them."""
    known = dict(sorted((places or {}).items(), key=lambda item: -len(item[0])))
    replaced: dict[str, str] = {}
    _named(value, replaced)
    return _walk(value, known, replaced)


def _named(value: Any, replaced: dict[str, str]) -> None:
    """Collects what stands under a key that names the machine."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key in NAMES and isinstance(inner, str) and inner:
                _of_kind(str(key), inner, replaced)
            if key == "user" and isinstance(inner, Mapping):
                for one in OF_USER:
                    name = inner.get(one)
                    if isinstance(name, str) and name not in ("", "root"):
                        replaced.setdefault(name, "ubuntu")
            _named(inner, replaced)
    elif isinstance(value, list | tuple):
        for inner in value:
            _named(inner, replaced)


def _of_kind(kind: str, old: str, replaced: dict[str, str]) -> str:
    if old in replaced:
        return replaced[old]
    number = sum(1 for _ in replaced)
    if re.fullmatch(f"(GPU-|MIG-)?{UUID}", old):
        prefix = old[:4] if old[:4] in ("GPU-", "MIG-") else ""
        new = f"{prefix}{number:08d}-0000-4000-8000-000000000000"
    elif kind == "hostname":
        new = "gpu-machine"
    elif kind == "address":
        new = f"{DOCUMENTATION}{1 + number % 250}"
    elif kind == "serial":
        new = f"{number:013d}"
    else:
        new = re.sub(r"[0-9a-fA-F]", "0", old)[: -len(str(number))] + str(number)
    replaced[old] = new
    return new


def _walk(value: Any, places: Mapping[str, str], replaced: dict[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {_text(str(k), places, replaced): _walk(inner, places, replaced) for k, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(inner, places, replaced) for inner in value]
    return _text(value, places, replaced) if isinstance(value, str) else value


def _text(text: str, places: Mapping[str, str], replaced: dict[str, str]) -> str:
    for old, new in places.items():
        text = text.replace(old, new)
    for old in sorted(list(replaced), key=len, reverse=True):
        # A short host or user name may be part of another word.
        text = re.sub(rf"(?<![A-Za-z0-9]){re.escape(old)}(?![A-Za-z0-9])", replaced[old], text)
    for kind, pattern in (
        ("uuid", f"(?:GPU-|MIG-)?{UUID}"),
        ("mac", MAC),
        ("guid", GUID),
        ("machine_id", HEX32),
    ):
        text = re.sub(
            pattern,
            lambda m, kind=kind: m[0] if m[0] in replaced.values() else _of_kind(kind, m[0], replaced),
            text,
        )
    return re.sub(ADDRESS, lambda m: _address(m[0], replaced), text)


def _address(text: str, replaced: dict[str, str]) -> str:
    """Loopback, documentation's own and what is no address (a version of four numbers) stay."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return text
    if found.is_loopback or found.is_unspecified or text.startswith((DOCUMENTATION, "255.")):
        return text
    return _of_kind("address", text, replaced)
