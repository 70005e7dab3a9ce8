"""The kernel's data on this machine's TCP connections: bytes, silences, retransmissions.

It is asked through netlink (sock_diag(7)), as `ss -ti` does; this needs no special rights. The layouts are those of
linux/inet_diag.h and linux/tcp.h.
"""

from __future__ import annotations

import socket
import struct
from typing import Dict, Iterator, NamedTuple, Tuple

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
REQUEST, DUMP, ERROR, DONE = 0x1, 0x300, 2, 3
IN_USE = 1 << 1 | 1 << 2 | 1 << 8
"""ESTABLISHED, SYN_SENT, CLOSE_WAIT."""

INFO = 2
SECONDS = 2.0
HEADER, ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=HH")


class Connection(NamedTuple):
    """Ages are milliseconds since bytes were last sent and received; `resent`: how often the oldest unanswered ones
    were sent again."""

    local: str
    remote: str
    sent_bytes: int
    received_bytes: int
    sent_ago_ms: int
    received_ago_ms: int
    unanswered: int
    resent: int


def connections() -> Dict[int, Connection]:
    """By inode, of the network namespace that we are in; empty if the kernel does not answer."""
    found: Dict[int, Connection] = {}
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            found.update(_of_family(family))
        except (OSError, struct.error):
            continue
    return found


def _of_family(family: int) -> Iterator[Tuple[int, Connection]]:
    body = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 1 << (INFO - 1), 0, IN_USE) + bytes(48)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG) as asked:
        asked.settimeout(SECONDS)
        asked.send(HEADER.pack(HEADER.size + len(body), SOCK_DIAG_BY_FAMILY, REQUEST | DUMP, 1, 0) + body)
        while True:
            data = asked.recv(1 << 16)
            at = 0
            while at + HEADER.size <= len(data):
                length, kind = HEADER.unpack_from(data, at)[:2]
                if kind in (DONE, ERROR) or length < HEADER.size:
                    return
                one = _one(data[at + HEADER.size : at + length])
                if one is not None:
                    yield one
                at += (length + 3) & ~3


def _one(message: bytes) -> "Tuple[int, Connection] | None":
    inode = struct.unpack_from("=I", message, 68)[0]
    at = 72
    while at + ATTRIBUTE.size <= len(message):
        length, kind = ATTRIBUTE.unpack_from(message, at)
        if length < ATTRIBUTE.size:
            return None
        info = message[at + ATTRIBUTE.size : at + length]
        if kind == INFO and len(info) >= 136:
            unanswered = struct.unpack_from("=I", info, 24)[0]
            ages = struct.unpack_from("=IIII", info, 44)
            sent, received = struct.unpack_from("=QQ", info, 120)
            ends = _address(message, 8, 4), _address(message, 24, 6)
            return inode, Connection(*ends, sent, received, ages[0], ages[2], unanswered, info[2])
        at += (length + 3) & ~3
    return None


def _address(message: bytes, at: int, port: int) -> str:
    """`10.0.0.1:29500` and `[::1]:29500`; an IPv4 address that IPv6 carries is shown as IPv4."""
    number = struct.unpack_from("!H", message, port)[0]
    raw = message[at : at + 16]
    if message[0] == socket.AF_INET:
        return "%s:%d" % (socket.inet_ntop(socket.AF_INET, raw[:4]), number)
    if raw[:12] == bytes(10) + b"\xff\xff":
        return "%s:%d" % (socket.inet_ntop(socket.AF_INET, raw[12:]), number)
    return "[%s]:%d" % (socket.inet_ntop(socket.AF_INET6, raw), number)
