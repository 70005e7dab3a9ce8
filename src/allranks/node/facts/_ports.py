"""TCP ports: which the run wants and may have, who listens on which, how many are taken."""

from __future__ import annotations

import errno
import functools
import os
import re
import socket
from typing import Any, Dict, List, Optional

from allranks.node import paths, processes
from allranks.node.facts import _processes
from allranks.node.facts._commands import line, text
from allranks.node.facts._reading import why

PORT_RANGE = "/proc/sys/net/ipv4/ip_local_port_range"


def ports_in_use() -> int:
    """How many ports of the range for outgoing connections are taken right now, by TCP sockets of any kind."""
    first, last = [int(n) for n in line(PORT_RANGE).split()][:2]
    taken: "set[int]" = set().union(*map(parse_local_ports, tables()))
    return sum(first <= port <= last for port in taken)


def parse_local_ports(content: str) -> "set[int]":
    """The local ports of all sockets of /proc/net/tcp or tcp6; rows of another form are left out."""
    found = set()
    for row in content.splitlines()[1:]:
        match = re.match(r"\s*\d+: [0-9A-F]+:([0-9A-F]{4}) ", row)
        if match:
            found.add(int(match.group(1), 16))
    return found


def read_ports(ports: List[int]) -> Dict[str, Dict[str, Any]]:
    """By port (as text): `free`; where not, `reason`, `held_by` the listeners seen and a free `proposal`."""
    if not ports:
        return {}
    listeners = read_listeners()
    taken = {one["port"] for one in listeners}
    whose = Holders([one for one in listeners if one["port"] in ports])
    found: Dict[str, Dict[str, Any]] = {}
    for port in ports:
        held = [one for one in listeners if one["port"] == port]
        reason = try_port(port)
        found[str(port)] = {"free": reason is None, "reason": reason, "held_by": whose.of(held)}
        if reason is not None:
            found[str(port)]["proposal"] = next_free(port, set(ports) | taken)
    return found


NEAR = 100


def next_free(port: int, taken: "set[int]") -> Optional[int]:
    """The first port above `port` that may be listened on and is not in `taken`; None if none of the next 100 is."""
    near = range(port + 1, min(port + 1 + NEAR, 65536))
    return next((one for one in near if one not in taken and try_port(one) is None), None)


def try_port(port: int) -> Optional[str]:
    """Really listens for a moment, as torch's TCPStore will (all addresses, SO_REUSEADDR); None if it may.

    A port in TIME_WAIT alone is free for it.
    """
    for family, everywhere in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as trial:
                trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    trial.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                trial.bind((everywhere, port))
                trial.listen(1)
        except OSError as error:
            if error.errno in (errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL) and family == socket.AF_INET6:
                continue  # a kernel without IPv6
            return why(error)
    return None


MOST_LISTENING = 512
"""A desktop or a head node listens on some dozens; further ones are counted, not listed."""


def listening(listeners: List[Dict[str, Any]]) -> Dict[str, Any]:
    """`sockets`: `port` and `held_by` of each that listens on this machine, by port; `more`: how many are not told."""
    told = sorted(listeners, key=lambda one: one["port"])
    by_port: Dict[int, List[Dict[str, Any]]] = {}
    for one in told[:MOST_LISTENING]:
        by_port.setdefault(one["port"], []).append(one)
    whose = Holders(told[:MOST_LISTENING])
    sockets = [{"port": port, "held_by": whose.of(held)} for port, held in by_port.items()]
    return {"sockets": sockets, "more": max(0, len(told) - MOST_LISTENING)}


def read_listeners() -> List[Dict[str, Any]]:
    """The listening TCP sockets of this network namespace, of both families."""
    return [one for table in tables() for one in parse_listening(table)]


def tables() -> List[str]:
    """The kernel's tables of TCP sockets, of both families."""
    return [text(path, 32 << 20) for path in ("/proc/net/tcp", "/proc/net/tcp6") if os.path.exists(path)]


def parse_listening(content: str) -> List[Dict[str, Any]]:
    """The listening sockets of /proc/net/tcp or tcp6: `port`, `uid`, `inode`."""
    found = []
    for row in content.splitlines()[1:]:
        fields = row.split()
        if len(fields) < 10 or fields[3] != "0A":
            continue
        try:
            port, uid, inode = int(fields[1].rpartition(":")[2], 16), int(fields[7]), int(fields[9])
        except ValueError:
            continue
        found.append({"port": port, "uid": uid, "inode": inode})
    return found


class Holders:
    """Who holds listening sockets; /proc is walked once, at the first question."""

    def __init__(self, listeners: List[Dict[str, Any]]) -> None:
        self._inodes = {one["inode"] for one in listeners}

    @functools.cached_property
    def _pids(self) -> Dict[int, int]:
        return _socket_owners(self._inodes)

    @functools.cached_property
    def _owned(self) -> Dict[_processes.Identity, str]:
        return _processes.owners(paths.home())

    def of(self, listeners: List[Dict[str, Any]]) -> List[Dict[str, Any]]:
        """One entry per process; its pid is None if another user's descriptors may not be read."""
        found: Dict[Any, Dict[str, Any]] = {}
        for one in listeners:
            pid = self._pids.get(one["inode"])
            if pid is None:
                holder = {"pid": None, "uid": one["uid"], "name": None, "run": None, "age_seconds": None}
            else:
                holder = _processes.described(pid, self._owned)
            found[(holder["pid"], holder["uid"])] = holder
        return list(found.values())


def _socket_owners(inodes: "set[int]") -> Dict[int, int]:
    links = {f"socket:[{inode}]": inode for inode in inodes}
    found: Dict[int, int] = {}
    for pid in processes.pids():
        for _, link in processes.open_files(pid) or ():
            if link in links:
                found.setdefault(links[link], pid)
    return found
