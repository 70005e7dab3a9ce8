"""The verb `probe listen`: accepts connections until its time is over or its answer is no longer read.

It listens on the ports that the run will use (the rendezvous port on the head) on every address, as torch's TCPStore
does. It also listens on one free port of the address of the ranks' interface, as gloo and NCCL do for the data.
"""

from __future__ import annotations

import os
import platform
import select
import socket
import struct
import threading
import time
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from allranks.node import reserved_port
from allranks.node.facts import network
from allranks.node.facts._reading import why
from allranks.node.probing import protocol

HELLO_SECONDS = 5.0
FIRST_BYTE_SECONDS = 2.0
"""Whole packets that do not come within it (a path that drops large ones) do not come at all."""

MOST_CONNECTIONS = 512
"""At once: 100 nodes dial three times each and measure with 16 streams. More are closed, not queued."""

MOST_SECONDS = 3600.0
TURN_SECONDS = 0.1
BLOCK_BYTES = 1 << 20
LONGEST_MEASURE_SECONDS = 30.0
GPU_FOLDER, RDMA_FOLDER = "/proc/driver/nvidia/gpus", "/sys/class/infiniband"


def run(wanted: Mapping[str, Any], over: Callable[[], bool]) -> Iterator[Dict[str, Any]]:
    """One line, where this node listens, and one at the end."""
    listener = Listener(wanted)
    try:
        yield listener.open()
        listener.serve(over)
    finally:
        listener.close()
    yield {"node": listener.node, "done": True}


class Listener:
    """`wanted`: `node`, `key` (hex), `ports` (those of the run), `any_port` (true: a free one, too), `interface` (or
    null), `peers` (names to addresses), `head` (a name), `seconds` (how long at most)."""

    def __init__(self, wanted: Mapping[str, Any]):
        self.node, self.key = str(wanted["node"]), bytes.fromhex(str(wanted["key"]))
        self.wanted = wanted
        self.sockets: List[socket.socket] = []
        self.room = threading.BoundedSemaphore(MOST_CONNECTIONS)

    def open(self) -> Dict[str, Any]:
        """Binds; the answer says where, and what this node is. A port that cannot be had is a reason in it."""
        interfaces = network.read_interfaces()
        peers = {str(n): str(a) for n, a in dict(self.wanted.get("peers") or {}).items()}
        way = network.route(peers.get(str(self.wanted.get("head")), ""), interfaces)
        told = self.wanted.get("interface")
        interface = str(told) if told else way.get("interface")
        answer: Dict[str, Any] = {
            "node": self.node,
            "hostname": socket.gethostname(),
            "interface": interface,
            "route": way,
            "addresses": sorted(own_addresses(interfaces)),
            "resolved": network.resolve([*peers.values(), socket.gethostname()]),
            "python": platform.python_version(),
            "nvidia": entries(GPU_FOLDER),
            "rdma": entries(RDMA_FOLDER),
            "ports": {},
        }
        for port in self.wanted.get("ports") or []:
            answer["ports"][str(port)] = self._everywhere(int(port))
        if self.wanted.get("any_port"):
            port = self._free_port()
            answer["ports"][str(port)] = self._everywhere(port)
        answer.update(self._data(interfaces, interface))
        return answer

    def serve(self, over: Callable[[], bool]) -> None:
        """Until `over` says so, or the time is over."""
        until = time.monotonic() + min(float(self.wanted.get("seconds") or 60.0), MOST_SECONDS)
        while time.monotonic() < until and not over():
            ready, _, _ = select.select(self.sockets, [], [], TURN_SECONDS)
            for listening in ready:
                try:
                    sock, peer = listening.accept()
                except OSError:
                    continue  # it went away before we took it
                if not self.room.acquire(blocking=False):
                    sock.close()
                    continue
                threading.Thread(target=self._serve_one, args=(sock, peer), daemon=True).start()

    def close(self) -> None:
        for sock in self.sockets:
            sock.close()

    # ---- binding ----

    @staticmethod
    def _free_port() -> int:
        """The port that a run with `network.port: auto` would take now; its first one if none is free."""
        held, port = reserved_port.reserve()
        if held is not None:
            held.close()
        return port or reserved_port.FIRST

    def _everywhere(self, port: int) -> Optional[str]:
        """Listens on all addresses; the reason where that cannot be."""
        try:
            if socket.has_dualstack_ipv6():
                family, dual = socket.AF_INET6, True
            else:
                family, dual = socket.AF_INET, False
            self.sockets.append(
                socket.create_server(("", port), family=family, dualstack_ipv6=dual, backlog=512)
            )
        except OSError as error:
            return why(error)
        return None

    def _data(self, interfaces: Mapping[str, Any], interface: Optional[str]) -> Dict[str, Any]:
        """Where the ranks' data would be listened for: `address` and `port`, or `reason`."""
        address, reason = address_of(interfaces, interface)
        if reason:
            return {"address": None, "port": None, "reason": reason}
        family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
        try:
            listening = socket.create_server((str(address), 0), family=family, backlog=512)
        except OSError as error:
            return {"address": address, "port": None, "reason": why(error)}
        self.sockets.append(listening)
        return {"address": address, "port": listening.getsockname()[1], "reason": None}

    # ---- answering ----

    def _serve_one(self, sock: socket.socket, peer: Any) -> None:
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            said, nonce = protocol.receive(sock, self.key, time.monotonic() + HELLO_SECONDS)
            if said.get("way") != "question":
                return
            answer = {"way": "answer", "node": self.node, "saw": plain(str(peer[0])), "at": time.time()}
            protocol.send(sock, self.key, nonce, answer)
            seconds = min(float(said.get("seconds") or 0.0), LONGEST_MEASURE_SECONDS)
            if said.get("do") == "echo":
                echo(sock)
            elif said.get("do") == "sink":
                protocol.send(sock, self.key, nonce, {"way": "count", **count(sock, seconds)})
                sock.settimeout(1.0)
                while sock.recv(BLOCK_BYTES):
                    pass
            elif said.get("do") == "source":
                fill(sock, seconds)
        except (OSError, ValueError, protocol.Stranger, protocol.Silent):
            pass  # the one who asked says what became of it
        finally:
            sock.close()
            self.room.release()


def echo(sock: socket.socket) -> None:
    """Gives each byte back until the peer closes."""
    sock.settimeout(HELLO_SECONDS)
    while True:
        block = sock.recv(64)
        if not block:
            return
        sock.sendall(block)


def count(sock: socket.socket, seconds: float) -> Dict[str, float]:
    """Takes bytes for `seconds` from the first one on; `bytes` and `seconds` that they took."""
    room = bytearray(BLOCK_BYTES)
    total, began = 0, 0.0
    deadline = time.monotonic() + seconds + FIRST_BYTE_SECONDS
    while True:
        now = time.monotonic()
        if (began and now - began >= seconds) or now > deadline:
            break
        sock.settimeout(max(0.001, (began + seconds if began else deadline) - now))
        try:
            size = sock.recv_into(room)
        except socket.timeout:
            break
        if not size:
            break
        if not began:
            began = time.monotonic()  # the first block starts the clock and is not counted
            continue
        total += size
    return {"bytes": total, "seconds": time.monotonic() - began if began else 0.0}


def fill(sock: socket.socket, seconds: float) -> None:
    """Sends zeros for `seconds`, or until the peer closes; unsent data is then thrown away."""
    pour(sock, seconds)
    abandon(sock)


def pour(sock: socket.socket, seconds: float) -> None:
    """Sends zeros for `seconds`. Raises OSError if the peer closes."""
    block = memoryview(bytes(BLOCK_BYTES))
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        sock.settimeout(max(0.001, until - time.monotonic()))
        try:
            sock.send(block)
        except socket.timeout:
            break


def abandon(sock: socket.socket) -> None:
    """At close the unsent bytes are dropped (SO_LINGER of 0): a slow link would be busy with them for long."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


# ---- what this node is ----


def address_of(interfaces: Mapping[str, Any], name: Optional[str]) -> "tuple[Optional[str], str]":
    """The address that gloo and NCCL take of an interface (the first IPv4 one, else a global IPv6 one), and
    the reason where there is none."""
    if not name:
        return None, "no route to the head names an interface"
    one = interfaces.get(name)
    if one is None:
        return None, f"there is no interface {name}; there are {', '.join(sorted(interfaces))}"
    held = [str(address).partition("/")[0] for address in one["addresses"]]
    held = [a for a in held if ":" not in a] + [a for a in held if ":" in a and not a.startswith("fe80")]
    if not one["up"]:
        return None, f"{name} is down"
    return (held[0], "") if held else (None, f"{name} has no address")


def own_addresses(interfaces: Mapping[str, Any]) -> List[str]:
    return [str(a).partition("/")[0] for one in interfaces.values() for a in one["addresses"]]


def plain(address: str) -> str:
    """`::ffff:10.0.0.1`, as a dual-stack socket names an IPv4 peer, is 10.0.0.1."""
    return address[7:] if address.startswith("::ffff:") and "." in address else address


def entries(folder: str) -> int:
    """How many devices a driver lists; 0 if it is not loaded."""
    try:
        return len(os.listdir(folder))
    except OSError:
        return 0
