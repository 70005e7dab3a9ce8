"""Interfaces, the way to every other node, what names resolve to, and the ports that the run wants."""

from __future__ import annotations

import array
import fcntl
import os
import re
import socket
import struct
import threading
from typing import Any, Dict, List, Mapping, Optional, Tuple

from allranks.node.facts import _ports, _reader_processes
from allranks.node.facts._commands import line, line_or_none, text
from allranks.node.facts._reading import Reading, why

RESOLVE_SECONDS = 5.0
"""glibc asks a nameserver for 5 s before it tries the next: a name that takes longer is a finding anyway."""

MOST_NAMES = 256

_SIOCGIFCONF, _SIOCGIFNETMASK, _SIOCGIFFLAGS, _SIOCGIFMTU = 0x8912, 0x891B, 0x8913, 0x8921
_IFF_UP, _IFF_RUNNING, _IFF_LOOPBACK = 0x1, 0x40, 0x8
_IFREQ_BYTES = 40


def read(request: Mapping[str, Any], reading: Reading) -> None:
    interfaces = reading.fact("interfaces", read_interfaces) or {}
    peers = request.get("peers")
    peers = peers if isinstance(peers, Mapping) else {}
    routes = reading.fact("routes", lambda: {str(n): route(str(a), interfaces) for n, a in peers.items()})
    head = (routes or {}).get(str(request.get("head")), {})
    reading.put("interface_to_head", head.get("interface"))
    reading.fact("resolved", lambda: resolve([*peers.values(), socket.gethostname()]))
    ports = [p for p in request.get("ports") or [] if isinstance(p, int) and 0 < p < 65536]
    reading.fact("ports", lambda: _ports.read_ports(ports))
    reading.fact("listening", lambda: _ports.listening(_ports.read_listeners()))
    reading.fact("local_port_range", lambda: [int(n) for n in line(_ports.PORT_RANGE).split()])
    reading.fact("reserved_ports", lambda: line(_RESERVED) if os.path.exists(_RESERVED) else "")
    # Only if something will listen: the table of a busy machine is long.
    reading.fact("local_ports_in_use", lambda: _ports.ports_in_use() if ports else None)
    reading.fact("somaxconn", lambda: int(line("/proc/sys/net/core/somaxconn")))


_RESERVED = "/proc/sys/net/ipv4/ip_local_reserved_ports"


# ---- interfaces ----


def read_interfaces() -> Dict[str, Dict[str, Any]]:
    """By name: `mtu`, `up`, `loopback`, `speed_mbits`, `kind`, `addresses`. Of this network namespace."""
    found: Dict[str, Dict[str, Any]] = {}
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        descriptor = asking.fileno()
        for _, name in socket.if_nameindex():
            flags = _flags(descriptor, name)
            found[name] = {
                "mtu": _number(descriptor, _SIOCGIFMTU, name, "i"),
                "up": bool(flags & _IFF_UP and flags & _IFF_RUNNING),
                "loopback": bool(flags & _IFF_LOOPBACK),
                "speed_mbits": _speed(name),
                "kind": _kind(name),
                "addresses": [],
            }
        for label, address in parse_ifconf(_ifconf(descriptor)):
            name = label.partition(":")[0]
            if name in found:
                found[name]["addresses"].append(f"{address}/{_prefix(descriptor, label, address)}")
    if os.path.exists("/proc/net/if_inet6"):
        for name, address in parse_if_inet6(text("/proc/net/if_inet6")):
            if name in found:
                found[name]["addresses"].append(address)
    return found


def _ifreq(name: str) -> bytes:
    return struct.pack(f"{_IFREQ_BYTES}s", os.fsencode(name)[:15])


def _number(descriptor: int, request: int, name: str, form: str) -> Optional[int]:
    try:
        return struct.unpack_from(form, fcntl.ioctl(descriptor, request, _ifreq(name)), 16)[0]
    except OSError:
        return None


def _flags(descriptor: int, name: str) -> int:
    return _number(descriptor, _SIOCGIFFLAGS, name, "H") or 0


def _prefix(descriptor: int, label: str, address: str) -> int:
    """Of this address: an interface may have several. The kernel compares both if the request has an address
    (devinet_ioctl in net/ipv4/devinet.c)."""
    request = struct.pack("16sHH4s", os.fsencode(label)[:15], socket.AF_INET, 0, socket.inet_aton(address))
    try:
        mask = fcntl.ioctl(descriptor, _SIOCGIFNETMASK, request.ljust(_IFREQ_BYTES, b"\0"))[20:24]
    except OSError:
        return 32
    return bin(int.from_bytes(mask, "big")).count("1")


def _ifconf(descriptor: int) -> bytes:
    room = array.array("B", bytes(_IFREQ_BYTES * 512))
    pointer, _ = room.buffer_info()
    answer = fcntl.ioctl(descriptor, _SIOCGIFCONF, struct.pack("iL", len(room), pointer))
    return room.tobytes()[: struct.unpack("iL", answer)[0]]


def _speed(name: str) -> Optional[int]:
    """Mbit/s as the driver says; None if it says nothing (virtual, down, or another namespace's /sys)."""
    try:
        speed = int(line(f"/sys/class/net/{name}/speed"))
    except (OSError, ValueError):
        return None
    return speed if speed > 0 else None


def _kind(name: str) -> Optional[str]:
    """`ethernet`, `infiniband` or `loopback` by ARPHRD_* of linux/if_arp.h; None if unknown."""
    kinds = {"1": "ethernet", "32": "infiniband", "772": "loopback"}
    return kinds.get(line_or_none(f"/sys/class/net/{name}/type") or "")


def parse_ifconf(data: bytes) -> List[Tuple[str, str]]:
    """`(label, IPv4 address)` of what SIOCGIFCONF returned."""
    found = []
    for start in range(0, len(data) - _IFREQ_BYTES + 1, _IFREQ_BYTES):
        label = data[start : start + 16].split(b"\0", 1)[0].decode("utf-8", "replace")
        found.append((label, socket.inet_ntoa(data[start + 20 : start + 24])))
    return found


def parse_if_inet6(content: str) -> List[Tuple[str, str]]:
    """`(interface, address/prefix)` of /proc/net/if_inet6; lines of another form are left out."""
    found = []
    for row in content.splitlines():
        fields = row.split()
        if len(fields) != 6 or not re.fullmatch(r"[0-9a-f]{32}", fields[0]):
            continue
        address = socket.inet_ntop(socket.AF_INET6, bytes.fromhex(fields[0]))
        found.append((fields[5], f"{address}/{int(fields[2], 16)}"))
    return found


# ---- ways ----


def route(address: str, interfaces: Mapping[str, Any]) -> Dict[str, Any]:
    """The interface and own address that the kernel takes to `address`; no packet is sent.

    `reason` says why there is none. A name is not resolved here: see `resolved`.
    """
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        socket.inet_pton(family, address)
    except (OSError, ValueError):
        found = resolve([address]).get(address, {})
        if not found.get("addresses"):
            return {"address": address, "reason": found.get("reason") or "the name resolves to nothing"}
        address = found["addresses"][0]
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect((address, 9))  # UDP: asks the routing table alone; 9 is `discard`
        except OSError as error:
            return {"address": address, "reason": why(error)}
        source = asking.getsockname()[0]
    return {"address": address, "source": source, "interface": interface_of(source, interfaces)}


def interface_of(address: str, interfaces: Mapping[str, Any]) -> Optional[str]:
    for name, one in interfaces.items():
        if address in [held.partition("/")[0] for held in one["addresses"]]:
            return name
    return "lo" if address.startswith("127.") else None


def resolve(names: List[Any]) -> Dict[str, Dict[str, Any]]:
    """By name: `addresses`, or `reason`. Runs in a process that can be abandoned, since a resolver may hang. Each
    name has its own thread, so that one that hangs does not delay the others."""
    wanted = sorted({str(name) for name in names if name and not _is_address(str(name))})[:MOST_NAMES]
    if not wanted:
        return {}

    def task(send: _reader_processes.Send) -> None:
        threads = [threading.Thread(target=_resolve_one, args=(name, send), daemon=True) for name in wanted]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    outcome = _reader_processes.run({"names": task}, RESOLVE_SECONDS)["names"]
    late = outcome.reason or "it was not answered"
    found: Dict[str, Dict[str, Any]] = {name: {"addresses": [], "reason": late} for name in wanted}
    found.update({str(message["name"]): message["answer"] for message in outcome.messages})
    return found


def _resolve_one(name: str, send: _reader_processes.Send) -> None:
    try:
        # Given as text, each name would load the tables of international names first (2 ms).
        asked = name.encode("ascii") if name.isascii() else name
        answers = socket.getaddrinfo(asked, None, type=socket.SOCK_STREAM)
        answer: Dict[str, Any] = {"addresses": sorted({str(one[4][0]) for one in answers})}
    except (OSError, ValueError) as error:
        answer = {"addresses": [], "reason": why(error)}
    send({"name": name, "answer": answer})


def _is_address(name: str) -> bool:
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            socket.inet_pton(family, name)
            return True
        except (OSError, ValueError):
            pass
    return False
